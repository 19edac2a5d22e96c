def price(n):
    if n > 50:
        return n * 0.9
    return n
