"""Bindings and contacts to rows and back, the same for every backend."""

import msgspec

from turnkeeper.model.binding import Binding, BindingTerms, Contact
from turnkeeper.model.ids import HOUSE, BindingId, SessionId, TenantId, UserId
from turnkeeper.stores.rows import Params, Row, json_text, micros, moment

_decode_terms = msgspec.json.Decoder(BindingTerms).decode
LAST = "~"
"""Behind every id."""


def binding_params(binding: Binding) -> Params:
    return {
        "tenant": binding.tenant,
        "house": HOUSE,
        "id": binding.id,
        "channel": binding.channel,
        "data": json_text(binding.terms),
        "created_by": binding.created_by,
        "created_at": micros(binding.created_at),
        "updated_at": micros(binding.updated_at),
    }


def binding_of(row: Row) -> Binding:
    return Binding(
        tenant=TenantId(row["tenant"]),
        id=BindingId(row["id"]),
        channel=row["channel"],
        terms=_decode_terms(row["data"]),
        created_by=UserId(row["created_by"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )


def contact_params(contact: Contact) -> Params:
    return {
        "tenant": contact.tenant,
        "binding": contact.binding,
        "address": contact.address,
        "user": contact.user,
        "session_id": contact.session_id,
        "changed_at": micros(contact.changed_at),
    }


def contact_of(row: Row) -> Contact:
    session_id = row["session_id"]
    return Contact(
        tenant=TenantId(row["tenant"]),
        binding=BindingId(row["binding"]),
        address=row["address"],
        user=UserId(row["user_id"]),
        session_id=None if session_id is None else SessionId(session_id),
        changed_at=moment(row["changed_at"]),
    )
