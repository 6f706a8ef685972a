"""The virtual dark room: a Canon body and a Yocto hub on the wire, and the physics behind them."""
