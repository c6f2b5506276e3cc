import { TriangleAlert } from "lucide-react";
import type { MadeKeyOut } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import css from "./keys.module.css";

interface MadeKeyProps {
  readonly made: MadeKeyOut;
  readonly onSeen: () => void;
}

/** The token of a new key: it is nowhere else, and never told again. */
export function MadeKey({ made, onSeen }: MadeKeyProps) {
  return (
    <>
      <p className={css.warning}>
        <TriangleAlert aria-hidden />
        <span>
          Copy the token now: it is shown this once, and only a digest of it is kept. Whoever has it can do what “
          {made.name}” may, so keep it like a password.
        </span>
      </p>
      <div className={css.token}>
        <code className="grow" data-token>
          {made.token}
        </code>
        <Copy text={made.token} label="Copy the token" />
      </div>
      <p className="soft">
        Programs send it as <code>Authorization: Bearer …</code>
      </p>
      <Button look="primary" onClick={onSeen}>
        I have kept it
      </Button>
    </>
  );
}
