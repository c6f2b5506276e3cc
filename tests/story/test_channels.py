"""Messages of the outside world: whose they are, where they go on, and how far they may go."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract.backends import Backend, PostgresBackend, SqliteBackend
from tests.story.test_outbox import a_mail
from turnkeeper import AgentTurn, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.channels.signatures import ID, SIGNATURE, TIMESTAMP, signature_of
from turnkeeper.errors import (
    ArtifactNotFound,
    AttachmentTooLarge,
    BindingNotFound,
    ChannelPayloadInvalid,
    ChannelUnsupported,
    ContactNotFound,
    EnvelopeInvalid,
    NotAllowed,
    NotAuthenticated,
    SenderUnknown,
    WebhookSignatureInvalid,
)
from turnkeeper.keeping.channels import DELIVER, guest
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.binding import Binding, BindingAuth, BindingTerms, ReplyKind, ReplyPath, Strangers
from turnkeeper.model.ids import AgentId, TenantId, UserId
from turnkeeper.model.policy import Ceilings, Policy
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.model.verdict import Judgement, Phase, Verdict
from turnkeeper.ports.channels import Raw

ANN = Principal(tenant=LOCAL.tenant, user=UserId("ann"))
BEN = Principal(tenant=LOCAL.tenant, user=UserId("ben"))
GATEWAY = Principal(tenant=LOCAL.tenant, user=UserId("gateway"), grants=frozenset([DELIVER]))
STRANGER = Principal(tenant=TenantId("globex"), user=UserId("gus"), role=Role.OWNER)
SECRET = "whsec_c2VjcmV0"


def a_text(text: str, *, number: str = "+14155550100", id: str = "SM1") -> Raw:
    said = {"From": number, "To": "+14155550199", "Body": text, "MessageSid": id, "NumMedia": "0", "NumSegments": "1"}
    return Raw(body=json.dumps(said).encode(), media_type="application/json")


def a_webhook(keeper: Turnkeeper, payload: dict[str, Any], *, id: str = "wh1", attempt: int = 1) -> Raw:
    body, now = json.dumps(payload).encode(), str(int(keeper._clock.now().timestamp()))
    signature = base64.b64encode(signature_of(SECRET, f"{id}.{now}.".encode() + body)).decode()
    headers = {ID: id, TIMESTAMP: now, SIGNATURE: f"v1,{signature}", "webhook-attempt": str(attempt)}
    return Raw(body=body, headers=headers, media_type="application/json")


async def a_door(keeper: Turnkeeper, channel: str = "email", **terms: Any) -> Binding:
    return await keeper.bindings.create(channel, BindingTerms(**{"name": "door", **terms}))


async def bring(keeper: Turnkeeper, door: Binding, raw: Raw, **more: Any) -> Any:
    """The ticket of a message that was brought in."""
    delivered = await keeper.channels.deliver(door.channel, door.id, raw, **more)
    assert delivered.ticket is not None
    return delivered.ticket


async def answered(keeper: Turnkeeper, door: Binding, raw: Raw, **more: Any) -> Any:
    return await keeper.reply_to(await bring(keeper, door, raw, **more))


def backend_at(address: str) -> Backend:
    return PostgresBackend(address) if address.startswith("postgres") else SqliteBackend(Path(address))


async def lines(keeper: Turnkeeper, session_id: str) -> list[str]:
    return [message.content for message in await keeper.messages(session_id) if message.role == "user"]


async def test_one_conversation_goes_on_from_the_web_by_mail_to_the_phone(keeper: Turnkeeper) -> None:
    mail, phone = await a_door(keeper, "email"), await a_door(keeper, "sms")
    web = await keeper.chat("on the web", principal=ANN)
    await keeper.bindings.put_contact(mail.id, "Ann@Example.org", user="ann", session_id=web.session_id)
    await keeper.bindings.put_contact(phone.id, "+14155550100", user="ann", session_id=web.session_id)

    by_mail = await answered(keeper, mail, a_mail("by mail"))
    by_phone = await answered(keeper, phone, a_text("by phone"))
    again = await keeper.chat("on the web again", session_id=web.session_id, principal=ANN)

    assert {by_mail.session_id, by_phone.session_id} == {web.session_id}
    assert [reply.turn for reply in (web, by_mail, by_phone, again)] == [1, 2, 3, 4]
    assert await lines(keeper, web.session_id) == ["on the web", "by mail", "by phone", "on the web again"]


async def test_what_is_delivered_twice_runs_once_also_with_attachments(keeper: Turnkeeper, address: str) -> None:
    door = await a_door(keeper, strangers=Strangers.GUEST)
    body = (
        b"From: ann@example.org\r\nMessage-ID: <7@x>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: text/plain\r\n\r\nSee this\r\n"
        b"--b\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=a.png\r\n\r\nPNG\r\n--b--\r\n"
    )

    first = await answered(keeper, door, Raw(body=body))
    # On its second way a mail has another header in front; it is the same mail.
    again = await bring(keeper, door, Raw(body=b"Received: from elsewhere\r\n" + body))

    assert (again.attached, again.run.id) == (True, first.run_id)
    assert len(await keeper.runs(first.session_id)) == 1
    assert await backend_at(address).execute("SELECT count(*) FROM artifacts") == [(1,)]


async def test_a_webhook_that_is_tried_again_attaches_to_the_first_attempt(keeper: Turnkeeper) -> None:
    door = await a_door(keeper, "webhook", strangers=Strangers.GUEST, auth=BindingAuth.SIGNATURE, secrets=(SECRET,))

    first = await answered(keeper, door, a_webhook(keeper, {"order": 1}), principal=None)
    again = await bring(keeper, door, a_webhook(keeper, {"order": 1}, attempt=2), principal=None)
    other = await bring(keeper, door, a_webhook(keeper, {"order": 2}, id="wh2"), principal=None)

    assert (again.attached, again.run.id) == (True, first.run_id)
    assert (other.attached, other.run.session_id) == (False, first.session_id)


async def test_many_first_messages_of_one_sender_at_once_begin_one_session(keeper: Turnkeeper) -> None:
    door = await a_door(keeper, "sms", strangers=Strangers.GUEST)

    tickets = await asyncio.gather(*(bring(keeper, door, a_text(str(n), id=f"SM{n}")) for n in range(5)))

    assert len({ticket.run.session_id for ticket in tickets}) == 1
    assert len({ticket.run.id for ticket in tickets}) == 5


async def test_attachments_are_kept_as_artifacts_of_their_sender(keeper: Turnkeeper) -> None:
    door = await a_door(keeper, strangers=Strangers.GUEST)
    body = (
        b"From: ann@example.org\r\nMessage-ID: <7@x>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: text/plain\r\n\r\nSee this\r\n"
        b"--b\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=a.png\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\niVBORw==\r\n--b--\r\n"
    )
    seen: list[Any] = []

    @keeper.agent("looking")
    async def looking(turn: AgentTurn) -> str:
        seen.extend(turn.events[0].attachments)
        return "seen"

    await keeper.bindings.change(door.id, replace(door.terms, agent=AgentId("looking")))
    await answered(keeper, door, Raw(body=body))

    [attachment] = seen
    artifact = await keeper.artifacts.get(attachment.artifact_id)
    assert await keeper.artifacts.read(artifact.id) == b"\x89PNG"[:4]
    assert (artifact.name, artifact.media_type, attachment.uri) == ("a.png", "image/png", f"artifact:{artifact.id}")
    assert (attachment.sha256, artifact.created_by) == (artifact.sha256, "guest:email:ann@example.org")


async def test_who_answers_a_reply_goes_on_where_it_was_said(keeper: Turnkeeper) -> None:
    nowhere = ReplyPath(kind=ReplyKind.HTTP, url="http://127.0.0.1:9/", secret=SECRET)
    door = await a_door(keeper, strangers=Strangers.GUEST, reply=nowhere)
    first = await answered(keeper, door, a_mail("one"))
    [delivery] = await keeper.deliveries.list(session_id=first.session_id)
    user = UserId("guest:email:ann@example.org")
    other = await keeper.create_session(principal=Principal(tenant=LOCAL.tenant, user=user))
    await keeper.bindings.put_contact(door.id, "ann@example.org", session_id=other.id)

    back = await answered(keeper, door, a_mail("two", number=2, In_Reply_To=f"<{delivery.id}@example.net>"))
    plain = await answered(keeper, door, a_mail("three", number=3))
    eves = await answered(keeper, door, a_mail("I am Eve", number=9, sender="eve@example.org"))
    forged = await answered(
        keeper, door, a_mail("four", number=4, sender="eve@example.org", References=f"<{delivery.id}@example.net>")
    )

    assert (back.session_id, back.turn) == (first.session_id, 2)
    # Where they last wrote is where they go on.
    assert plain.session_id == first.session_id
    assert (forged.session_id, forged.turn) == (eves.session_id, 2)


async def expire(keeper: Turnkeeper, session_id: str) -> None:
    session = await keeper.session(session_id)
    at = session.expires_at
    expired = AuditFacts(tenant=session.tenant, at=at, verb="expire", outcome="expired", facts={})
    await keeper._store.sessions.expire(session.tenant, session.id, at=at, audit=expired)


OVER: dict[str, Any] = {"closed": Turnkeeper.close_session, "expired": expire}


@pytest.mark.parametrize("how", OVER)
async def test_when_the_session_is_over_the_next_message_begins_a_new_one_that_is_remembered(
    keeper: Turnkeeper, how: str
) -> None:
    door = await a_door(keeper, strangers=Strangers.GUEST)
    first = await answered(keeper, door, a_mail("one"))
    await OVER[how](keeper, first.session_id)

    second = await answered(keeper, door, a_mail("two", number=2))
    third = await answered(keeper, door, a_mail("three", number=3))

    assert second.session_id != first.session_id
    assert (second.replaced_session_id, third.session_id) == (None, second.session_id)


async def test_a_message_answers_the_question_that_was_asked_on_its_channel(keeper: Turnkeeper) -> None:
    @keeper.agent("booker")
    async def booker(turn: AgentTurn) -> str:
        return f"Booked for {await turn.ask('For how many?')}." if turn.text == "book" else f"By the way: {turn.text}"

    mail = await a_door(keeper, agent="booker", strangers=Strangers.GUEST)

    asked = await answered(keeper, mail, a_mail("book"))
    done = await answered(keeper, mail, a_mail("four", number=2))
    redelivered = await bring(keeper, mail, a_mail("four", number=2))
    after = await answered(keeper, mail, a_mail("thanks", number=3))

    assert (asked.text, done.text, done.run_id) == ("For how many?", "Booked for four.", asked.run_id)
    assert (redelivered.attached, redelivered.run.id) == (True, asked.run_id)
    assert after.text == "By the way: thanks"


async def test_a_question_that_was_asked_elsewhere_is_not_answered_by_a_mail(keeper: Turnkeeper) -> None:
    @keeper.agent("booker")
    async def booker(turn: AgentTurn) -> str:
        return f"Booked for {await turn.ask('For how many?')}." if turn.text == "book" else f"By the way: {turn.text}"

    mail = await a_door(keeper)
    asked = await keeper.chat("book", agent="booker", principal=ANN)
    await keeper.bindings.put_contact(mail.id, "ann@example.org", user="ann", session_id=asked.session_id)

    by_mail = await answered(keeper, mail, a_mail("four"))

    assert by_mail.text == "By the way: four"


async def test_an_approval_is_not_given_by_a_mail(keeper: Turnkeeper) -> None:
    @keeper.agent("careful")
    async def careful(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        if turn.text == "Go":
            yield Verdict(phase=Phase.SCORE, value=Judgement.ESCALATE, reasons=("It costs 900 euros.",))
        yield f"You said {turn.text}."

    mail = await a_door(keeper)
    asked = await keeper.chat("Go", agent="careful", principal=ANN, channel="email", mode="long_running")
    await keeper.bindings.put_contact(mail.id, "ann@example.org", user="ann", session_id=asked.session_id)

    by_mail = await answered(keeper, mail, a_mail("yes"))

    assert (asked.status, asked.text) == ("waiting", "It costs 900 euros.")
    assert (by_mail.text, by_mail.run_id == asked.run_id) == ("You said yes.", False)


async def _grants_seen(keeper: Turnkeeper, channel: str, raw: Raw, **terms: Any) -> set[str]:
    seen: list[Any] = []

    @keeper.agent("nosy")
    async def nosy(turn: AgentTurn) -> str:
        seen.append(turn.context.grants)
        return "seen"

    door = await a_door(keeper, channel, agent="nosy", strangers=Strangers.GUEST, **terms)
    await answered(keeper, door, raw)
    return set(seen[0])


@pytest.mark.parametrize(("channel", "raw"), [("email", a_mail("hi")), ("sms", a_text("hi"))])
async def test_forgeable_channels_hold_nothing_unless_the_operator_says_more(
    settings: Settings, channel: str, raw: Raw
) -> None:
    more = Policy(channels={channel: Ceilings(grants=frozenset(["orders:read"]))})

    async with Turnkeeper.open(settings=settings) as keeper:
        by_default = await _grants_seen(keeper, channel, raw, grants=("orders:read", "orders:cancel"))
    async with Turnkeeper.open(settings=settings, policy=more) as keeper:
        said = await _grants_seen(keeper, channel, raw, grants=("orders:read", "orders:cancel"))
    async with Turnkeeper.open(settings=settings, policy=more) as keeper:
        without = await _grants_seen(keeper, channel, raw)

    assert (by_default, said, without) == (set(), {"orders:read"}, set())


async def test_a_contact_holds_no_more_than_its_binding_even_if_it_is_an_owner(settings: Settings) -> None:
    seen: list[Any] = []
    async with Turnkeeper.open(settings=settings, policy=Policy(channels={})) as keeper:

        @keeper.agent("nosy")
        async def nosy(turn: AgentTurn) -> str:
            seen.append(set(turn.context.grants or ()))
            return "seen"

        door = await a_door(keeper, agent="nosy", grants=("orders:read",))
        await keeper.bindings.put_contact(door.id, "ann@example.org", user=LOCAL.user)
        await answered(keeper, door, a_mail("hi"))

    assert seen == [{"orders:read"}]


async def test_strangers_are_refused_unless_they_may_be_guests(keeper: Turnkeeper) -> None:
    door = await a_door(keeper)

    with pytest.raises(SenderUnknown):
        await bring(keeper, door, a_mail("hi"))
    await keeper.bindings.change(door.id, replace(door.terms, strangers=Strangers.GUEST))
    ticket = await bring(keeper, door, a_mail("hi"))

    assert ticket.run.user == "guest:email:ann@example.org"


@pytest.mark.parametrize(
    ("address", "name"),
    [("ann@example.org", "guest:x:ann@example.org"), ("+14155550100", "guest:x:14155550100")],
)
def test_guests_are_called_by_their_address(address: str, name: str) -> None:
    assert guest("x", address) == name


def test_guests_whose_address_does_not_fit_are_called_by_its_hash() -> None:
    names = {guest("x", address) for address in ("a+b@c", "a+c@c", "a" * 300, "a b")}

    assert len(names) == 4
    assert all(len(name) <= 128 and " " not in name and "+" not in name for name in names)


async def test_a_token_binding_takes_messages_of_others_from_a_gateway_only(keeper: Turnkeeper) -> None:
    door = await a_door(keeper)
    await keeper.bindings.put_contact(door.id, "ann@example.org", user="ann")

    for caller in (BEN, Principal(tenant=LOCAL.tenant, user=UserId("vera"), role=Role.VIEWER, grants=GATEWAY.grants)):
        with pytest.raises(NotAllowed, match="may not bring messages of others"):
            await bring(keeper, door, a_mail("hi"), principal=caller)
    with pytest.raises(NotAuthenticated):
        await bring(keeper, door, a_mail("hi"), principal=None)
    with pytest.raises(BindingNotFound):
        await bring(keeper, door, a_mail("hi"), principal=STRANGER)

    assert (await bring(keeper, door, a_mail("hi"), principal=ANN)).run.user == "ann"
    assert (await bring(keeper, door, a_mail("ho", number=2), principal=GATEWAY)).run.user == "ann"


async def test_a_signature_binding_lets_in_only_what_is_signed(keeper: Turnkeeper) -> None:
    signed = {"auth": BindingAuth.SIGNATURE, "secrets": (SECRET,), "strangers": Strangers.GUEST}
    hook, mail = await a_door(keeper, "webhook", **signed), await a_door(keeper, "email", **signed)
    lenient = await a_door(keeper, "webhook", **signed, settings={"unsigned": True})
    forged = a_webhook(keeper, {"order": 1})

    with pytest.raises(WebhookSignatureInvalid):
        await bring(keeper, hook, replace(forged, body=b'{"order": 2}'), principal=None)
    with pytest.raises(WebhookSignatureInvalid):
        await bring(keeper, mail, a_mail("hi"), principal=None)
    with pytest.raises(WebhookSignatureInvalid):
        # The binding asks for a signature, whatever its channel would let pass, and whoever the caller is.
        await bring(keeper, lenient, Raw(body=b"{}"), principal=LOCAL)


async def test_a_door_that_is_not_there_or_shut_lets_nothing_in(keeper: Turnkeeper) -> None:
    door = await a_door(keeper, strangers=Strangers.GUEST)

    with pytest.raises(ChannelUnsupported):
        await keeper.channels.deliver("pigeon", door.id, a_mail())
    for channel, binding_id in (("sms", door.id), ("email", "bind_nope"), ("email", "no id at all")):
        with pytest.raises(BindingNotFound):
            await keeper.channels.deliver(channel, binding_id, a_mail())
    await keeper.bindings.change(door.id, replace(door.terms, enabled=False))
    with pytest.raises(BindingNotFound):
        await bring(keeper, door, a_mail())


async def test_a_sign_of_life_runs_nothing(keeper: Turnkeeper) -> None:
    door = await a_door(keeper, strangers=Strangers.GUEST)

    delivered = await keeper.channels.deliver("email", door.id, a_mail("away", Auto_Submitted="auto-replied"))

    assert delivered.ticket is None
    assert await keeper.sessions() == []


async def test_a_message_that_is_too_long_is_refused_or_cut_as_its_channel_does(settings: Settings) -> None:
    async with Turnkeeper.open(settings=replace(settings, message_chars=100)) as keeper:
        sms = await a_door(keeper, "sms", strangers=Strangers.GUEST)
        with pytest.raises(ChannelPayloadInvalid, match="characters"):
            await bring(keeper, sms, a_text("x" * 101))
        mail = await a_door(keeper, "email", strangers=Strangers.GUEST)
        cut = await answered(keeper, mail, a_mail("x" * 500))

        assert len((await lines(keeper, cut.session_id))[0]) <= 100


async def test_every_refusal_is_audited_with_the_tenant_of_the_binding(keeper: Turnkeeper) -> None:
    door = await a_door(keeper)
    signed = await a_door(keeper, "webhook", auth=BindingAuth.SIGNATURE, secrets=(SECRET,))

    for binding, raw, principal in ((door, a_mail("hi"), LOCAL), (signed, Raw(body=b"{}"), None)):
        with pytest.raises(TurnkeeperError):
            await bring(keeper, binding, raw, principal=principal)

    bodies = [entry.body async for entry in keeper._store.audit.entries(LOCAL.tenant)]
    refused = [body for body in bodies if '"deliver"' in body]
    assert [code in body for code, body in zip(("sender_unknown", "webhook_signature_invalid"), refused, strict=True)]
    assert signed.id in refused[1]
    assert not any("ann@example.org" in body for body in bodies)


async def test_users_move_their_own_contacts_and_nobody_elses(keeper: Turnkeeper) -> None:
    door = await a_door(keeper)
    await keeper.bindings.put_contact(door.id, "ann@example.org", user="ann")
    mine = await keeper.create_session(principal=ANN)
    bens = await keeper.create_session(principal=BEN)

    moved = await keeper.bindings.put_contact(door.id, "ann@example.org", session_id=mine.id, principal=ANN)
    for address, user in (("ann@example.org", None), ("ann@example.org", "ben"), ("new@example.org", "ben")):
        with pytest.raises(ContactNotFound):
            await keeper.bindings.put_contact(door.id, address, user=user, principal=BEN)
    with pytest.raises(ContactNotFound):
        await keeper.bindings.put_contact(door.id, "ann@example.org", user="ben", principal=ANN)
    for principal in (ANN, LOCAL):
        with pytest.raises(EnvelopeInvalid, match="session_id"):
            await keeper.bindings.put_contact(door.id, "ann@example.org", session_id=bens.id, principal=principal)

    assert moved.session_id == mine.id
    assert [contact.address for contact in await keeper.bindings.contacts(door.id, principal=ANN)] == [
        "ann@example.org"
    ]
    assert await keeper.bindings.contacts(door.id, principal=BEN) == []


async def test_only_owner_and_admin_see_and_change_bindings(keeper: Turnkeeper) -> None:
    door = await a_door(keeper)

    for forbidden in (
        keeper.bindings.create("email", BindingTerms(name="x"), principal=ANN),
        keeper.bindings.get(door.id, principal=ANN),
        keeper.bindings.list(principal=ANN),
        keeper.bindings.change(door.id, door.terms, principal=ANN),
        keeper.bindings.remove(door.id, principal=ANN),
        keeper.bindings.remove_contact(door.id, "ann@example.org", principal=ANN),
        keeper.deliveries.list(principal=ANN),
        keeper.deliveries.retry("dlv_1", principal=ANN),
    ):
        with pytest.raises(NotAllowed):
            await forbidden
    with pytest.raises(BindingNotFound):
        await keeper.bindings.get(door.id, principal=STRANGER)


async def test_the_audit_names_the_door_of_a_message_and_who_brought_it(keeper: Turnkeeper) -> None:
    mail = await a_door(keeper, strangers=Strangers.GUEST)
    signed = await a_door(keeper, "webhook", strangers=Strangers.GUEST, auth=BindingAuth.SIGNATURE, secrets=(SECRET,))
    await keeper.channels.deliver("email", mail.id, a_mail(), principal=GATEWAY)
    await keeper.channels.deliver("webhook", signed.id, a_webhook(keeper, {"n": 1}), principal=None)
    with pytest.raises(ChannelPayloadInvalid):
        await keeper.channels.deliver("email", mail.id, Raw(body=b""), principal=GATEWAY)

    told = [json.loads(entry.body) async for entry in keeper._store.audit.entries(LOCAL.tenant)]
    made = [each for each in told if each["verb"] == "create_binding"]
    brought, pushed, refused = [each for each in told if each["verb"] == "deliver"]
    assert [each["of_channel"] for each in made] == ["email", "webhook"]
    assert (brought["binding"], brought["channel"], brought["brought_by"]) == (mail.id, "email", GATEWAY.user)
    assert (pushed["binding"], pushed["channel"], "brought_by" in pushed) == (signed.id, "webhook", False)
    assert (refused["binding"], refused["channel"]) == (mail.id, "email")


async def test_a_door_whose_agent_is_gone_can_still_be_shut(keeper: Turnkeeper) -> None:
    keeper.agent("passing")(lambda turn: "Hello")
    door = await a_door(keeper, agent=AgentId("passing"))
    gone = replace(door, terms=replace(door.terms, agent=AgentId("gone")))
    facts = AuditFacts(tenant=door.tenant, at=door.created_at, verb="change_binding", outcome="accepted", facts={})
    await keeper._store.bindings.change(gone, facts)

    shut = await keeper.bindings.change(door.id, replace(gone.terms, enabled=False))

    assert not shut.terms.enabled
    with pytest.raises(EnvelopeInvalid, match="/agent"):
        await keeper.bindings.change(door.id, replace(gone.terms, agent=AgentId("another")))


@pytest.mark.parametrize(("channel", "written"), [("email", "ann"), ("email", "Ann <a@b.c>"), ("sms", "0041 55")])
async def test_a_contact_has_an_address_that_its_channel_could_bring(
    keeper: Turnkeeper, channel: str, written: str
) -> None:
    door = await a_door(keeper, channel)

    with pytest.raises(EnvelopeInvalid, match="/address"):
        await keeper.bindings.put_contact(door.id, written, user="ann")


async def test_a_stranger_is_not_told_what_is_wrong_with_the_secrets(keeper: Turnkeeper) -> None:
    """A door of earlier days may have secrets that nobody would be given today."""
    door = await a_door(keeper, "webhook", auth=BindingAuth.SIGNATURE, secrets=(SECRET,))
    facts = AuditFacts(tenant=door.tenant, at=door.created_at, verb="change_binding", outcome="accepted", facts={})
    told = set()

    for secrets in (("whsec_b3RoZXI=",), ("no key",)):
        await keeper._store.bindings.change(replace(door, terms=replace(door.terms, secrets=secrets)), facts)
        with pytest.raises(WebhookSignatureInvalid) as refused:
            await keeper.channels.deliver("webhook", door.id, a_webhook(keeper, {"n": 1}), principal=None)
        told.add(str(refused.value))

    assert len(told) == 1


async def test_artifacts_are_for_who_keeps_them_and_for_owner_and_admin(keeper: Turnkeeper) -> None:
    kept = await keeper.artifacts.keep(b"letter", media_type="Text/Plain; charset=x", name="../a\n.txt", principal=ANN)

    assert (kept.media_type, kept.name) == ("text/plain", "a.txt")
    assert await keeper.artifacts.read(kept.id, principal=ANN) == await keeper.artifacts.read(kept.id) == b"letter"
    for other in (BEN, STRANGER):
        with pytest.raises(ArtifactNotFound):
            await keeper.artifacts.get(kept.id, principal=other)
        with pytest.raises(ArtifactNotFound):
            await keeper.artifacts.read(kept.id, principal=other)


async def test_an_artifact_that_is_too_large_is_refused(settings: Settings) -> None:
    async with Turnkeeper.open(settings=replace(settings, artifact_bytes=3)) as keeper:
        with pytest.raises(AttachmentTooLarge):
            await keeper.artifacts.keep(b"four")
