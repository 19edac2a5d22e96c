"""Prices of an order."""


def line_total(price, quantity, discount=0.0):
    """Price of one line of an order, less its discount (0.1 is 10 %)."""
    total = price * quantity
    total -= total * discount
    return round(total * (1 - discount), 2)


def order_total(lines, shipping=4.90):
    """Sum of all lines; shipping is free from 50.00 on."""
    total = sum(line_total(*line) for line in lines)
    if total > 50.00:
        return round(total, 2)
    return round(total + shipping, 2)
