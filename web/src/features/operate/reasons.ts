/** The codes of common refusals in plain words: what they mean, and what can be done. */
export interface Meaning {
  readonly says: string;
  readonly todo: string;
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  unauthenticated: {
    says: "No token was shown, or one that nobody knows.",
    todo: "Give the caller a key. If nobody should be calling, see where the requests come from.",
  },
  token_expired: { says: "The token was good once, and its time is over.", todo: "Make a new key, or log in again." },
  token_revoked: { says: "The key was revoked.", todo: "Make a new key if its user should still come in." },
  too_many_attempts: {
    says: "Many unknown tokens came from one place, so it has to wait.",
    todo: "Correct the token of that program, or find out who is guessing.",
  },
  csrf_refused: {
    says: "A change was asked for that did not come from our own page.",
    todo: "Reload the console. A program uses a key, not the cookie of a browser.",
  },
  not_allowed: {
    says: "The role or the key of the caller does not go that far.",
    todo: "Give them a higher role or a wider key, or let somebody do it who may.",
  },
  may_not_decide: {
    says: "Somebody tried to decide an approval that a higher role decides.",
    todo: "Ask somebody of the role that the rule names.",
  },
  scope_insufficient: {
    says: "The intent needs a grant that the caller does not have.",
    todo: "Give the grant to their key, if they should do this.",
  },
  scope_denied: {
    says: "An agent wanted to do something that its session does not allow.",
    todo: "If it should, widen the policy or the mounts of the session.",
  },
  user_suspended: { says: "The user is suspended.", todo: "Take them back in, if that was a mistake." },
  tenant_suspended: { says: "The whole tenant is suspended.", todo: "Its operator can take it back in." },
  tenant_mismatch: {
    says: "The envelope is for another tenant than the caller's.",
    todo: "Use a key of that tenant, or leave the tenant out.",
  },
  user_mismatch: {
    says: "The envelope speaks for somebody else.",
    todo: "Use a key of that user, or leave the user out.",
  },
  session_not_found: {
    says: "There is no such session, or it is not the caller's.",
    todo: "Check the id. What was erased does not come back.",
  },
  session_closed: { says: "The session is closed.", todo: "Continue it in a new session." },
  session_expired: {
    says: "Nobody said anything for too long, so the session is over.",
    todo: "Continue it in a new session, or let sessions last longer.",
  },
  session_busy: {
    says: "The session was still answering, and its agent takes one message at a time.",
    todo: "Send it again, or let messages queue or merge.",
  },
  agent_not_found: {
    says: "No node has an agent of that name.",
    todo: "Check the name, and whether the node that has it is alive.",
  },
  pack_not_found: { says: "There is no such pack.", todo: "Push it, or correct its name." },
  rate_limited: {
    says: "More was sent at once than the limit lets through.",
    todo: "Send more slowly, or raise the rate. See Limits.",
  },
  quota_exceeded: {
    says: "The tenant has used up what it may have.",
    todo: "Erase what is no longer needed, or raise the quota. See Limits.",
  },
  queue_full: {
    says: "Too many messages wait in one session.",
    todo: "See under Now what holds it up.",
  },
  too_many_streams: {
    says: "The tenant has as many open streams as it may have.",
    todo: "Close tabs and programs that follow along. See Limits.",
  },
  budget_exceeded: {
    says: "The run spent what it may spend.",
    todo: "Ask for less, or raise the budget.",
  },
  envelope_invalid: {
    says: "The request did not have the right shape.",
    todo: "Correct the program that sends it; the answer says which field it was.",
  },
  malformed_json: { says: "The body was not JSON.", todo: "Correct the program that sends it." },
  body_too_large: { says: "The body was too large.", todo: "Send less at once, or attach it as a file. See Limits." },
  duplicate_request: {
    says: "The same id was used for another request.",
    todo: "Give each request an id of its own; repeat one only unchanged.",
  },
  version_moved: {
    says: "Somebody changed it in the meantime.",
    todo: "Read it again, and change that.",
  },
  approval_decided: { says: "Somebody else decided the approval first.", todo: "Nothing: what was decided stands." },
  webhook_signature_invalid: {
    says: "The signature of a webhook does not fit.",
    todo: "Check the secret of the binding on both sides. Otherwise somebody pretends to be the channel.",
  },
  sender_unknown: {
    says: "Somebody wrote through a channel who is not known here.",
    todo: "Add them to the contacts of the binding, if they should be answered.",
  },
  store_unavailable: {
    says: "The database could not be reached.",
    todo: "Look at the database. What was sent with an id can be sent again.",
  },
  shutting_down: { says: "The node was stopping.", todo: "Send it again: another node answers." },
  internal_error: {
    says: "Something went wrong on our side.",
    todo: "Look for the trace id in the logs of the node.",
  },
};

/** For a code that is not common, its own words. */
export function meaningOf(reason: string): Meaning {
  return (
    MEANINGS[reason] ?? {
      says: `${reason.replaceAll("_", " ")}.`.replace(/^./, (first) => first.toUpperCase()),
      todo: "Open one of the entries: its facts say what was asked for, and by whom.",
    }
  );
}
