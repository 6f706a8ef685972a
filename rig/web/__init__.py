"""What the web pages of the project share: the page shell, and the checks of requests."""
