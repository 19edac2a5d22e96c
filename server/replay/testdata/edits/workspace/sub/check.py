from price import price
assert price(50) == 45
print("ok")
