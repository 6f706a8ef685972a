"""Human trials."""
