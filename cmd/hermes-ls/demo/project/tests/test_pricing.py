import unittest

from inventory.pricing import line_total, order_total


class LineTotal(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(line_total(2.50, 4), 10.00)

    def test_discount_counts_once(self):
        self.assertEqual(line_total(10.00, 3, 0.1), 27.00)


class OrderTotal(unittest.TestCase):
    def test_small_order_pays_shipping(self):
        self.assertEqual(order_total([(10.00, 2)]), 24.90)

    def test_free_shipping_begins_at_fifty(self):
        self.assertEqual(order_total([(25.00, 2)]), 50.00)


if __name__ == "__main__":
    unittest.main()
