import { useMutation } from "@tanstack/react-query";
import { answered, api } from "../../api/client.ts";
import { Confirm } from "../../ui/dialog.tsx";
import { ProblemNotice } from "../../ui/notice.tsx";

interface ResetDialogProps {
  readonly sessionId: string;
  readonly isOpen: boolean;
  readonly onClosed: () => void;
}

/** Asks before a session begins anew, and says what that takes away and what it leaves. */
export function ResetDialog({ sessionId, isOpen, onClosed }: ResetDialogProps) {
  const resetting = useMutation({
    mutationFn: () =>
      answered(api.POST("/api/v1/sessions/{session_id}/reset", { params: { path: { session_id: sessionId } } })),
    onSuccess: onClosed,
  });
  return (
    <Confirm
      title="Reset this session?"
      action="Reset"
      isOpen={isOpen}
      isBusy={resetting.isPending}
      onConfirmed={() => resetting.mutate()}
      onClosed={onClosed}
    >
      <p>
        <strong>Out of reach of every later answer:</strong> what was said, what was learned from it, the intent with
        its fields and its lock, params, preferences, what the agent remembers, and questions and approvals that wait.
      </p>
      <p>
        <strong>Stays:</strong> the session with its id, title and pack, what is pinned to it, its layout, and messages
        that are already in line. What was said can still be read here, greyed.
      </p>
      {resetting.error !== null && <ProblemNotice problem={resetting.error} />}
    </Confirm>
  );
}
