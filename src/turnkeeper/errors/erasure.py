"""What cannot be told of what was erased."""

from turnkeeper.errors.base import TurnkeeperError
from turnkeeper.model.ids import ReceiptId


class ReceiptNotFound(TurnkeeperError):
    code = "receipt_not_found"
    http_status = 404
    title = "No such receipt"

    def __init__(self, receipt_id: ReceiptId) -> None:
        super().__init__(f"There is no receipt {receipt_id!r} here. Look at the list of receipts.")
