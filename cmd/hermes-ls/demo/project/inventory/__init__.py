"""A small shop: what an order costs."""
