import { useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import type { ArtifactOut } from "../../api/schema.gen.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { TextField } from "../../ui/field.tsx";
import { saveFile } from "../../ui/files.ts";
import { Json } from "../../ui/json.tsx";
import { Asked, Loading, ProblemNotice } from "../../ui/notice.tsx";
import { Facts, Panel } from "../../ui/panel.tsx";
import { sizeOf } from "../../ui/sizes.ts";
import { TextDiff } from "../../ui/text-diff.tsx";
import { When } from "../../ui/time.tsx";
import { useToasts } from "../../ui/toasts.tsx";
import css from "./artifacts.module.css";
import { lookOf, readable } from "./content.ts";
import { contentOf, useArtifact, useContent } from "./queries.ts";

/** What is known of an artifact, and what is in it, as far as it can be shown without running it. */
export function ArtifactView({ id, against }: { readonly id: string; readonly against: string | undefined }) {
  const artifact = useArtifact(id);
  return (
    <Asked query={artifact} what="Reading the artifact">
      {(found) => (
        <>
          <Panel title={found.name ?? "Artifact"} aside={<Download artifact={found} />}>
            <Facts
              of={[
                ["Type", found.media_type],
                ["Size", sizeOf(found.size)],
                ["Kept", <When key="kept" at={found.created_at} />],
                ["Kept by", found.created_by],
                ["Hash", <Hash key="hash" of={found.sha256} />],
              ]}
            />
          </Panel>
          {against === undefined ? <Preview artifact={found} /> : <Compared artifact={found} against={against} />}
          <CompareForm against={against} />
        </>
      )}
    </Asked>
  );
}

export function Hash({ of }: { readonly of: string }) {
  return (
    <span className="row">
      <code>{of.slice(0, 16)}</code>
      <Copy text={of} label="Copy the hash" />
    </span>
  );
}

function Download({ artifact }: { readonly artifact: ArtifactOut }) {
  const { complain } = useToasts();
  const [isBusy, setBusy] = useState(false);
  const download = async () => {
    setBusy(true);
    try {
      // As plain bytes: no browser is to open it as a page by its type.
      const bytes = new Blob([await contentOf(artifact.id)], { type: "application/octet-stream" });
      saveFile(bytes, artifact.name ?? artifact.sha256.slice(0, 16));
    } catch (problem) {
      complain(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button isBusy={isBusy} onClick={() => void download()}>
      Download
    </Button>
  );
}

function Preview({ artifact }: { readonly artifact: ArtifactOut }) {
  const look = lookOf(artifact.media_type, artifact.size);
  const content = useContent(artifact.id, look !== "none");
  if (look === "none")
    return (
      <Panel title="Preview">
        <p className="soft">
          {sizeOf(artifact.size)} of {artifact.media_type} cannot be shown here. Download it to look at it.
        </p>
      </Panel>
    );
  return (
    <Panel title="Preview">
      <Asked query={content} what="Reading the content">
        {(blob) =>
          look === "image" ? (
            <Picture blob={blob} name={artifact.name} />
          ) : (
            <Text blob={blob} isJson={look === "json"} />
          )
        }
      </Asked>
    </Panel>
  );
}

function Picture({ blob, name }: { readonly blob: Blob; readonly name: string | null }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return address === undefined ? (
    <Loading />
  ) : (
    <img className={css.picture} src={address} alt={name ?? "The artifact"} />
  );
}

function useText(blob: Blob | undefined): string | undefined {
  const [text, setText] = useState<string>();
  useEffect(() => {
    let isWanted = true;
    void blob?.text().then((read) => isWanted && setText(read));
    return () => {
      isWanted = false;
    };
  }, [blob]);
  return text;
}

function Text({ blob, isJson }: { readonly blob: Blob; readonly isJson: boolean }) {
  const text = useText(blob);
  if (text === undefined) return <Loading />;
  return (
    <div className={css.text}>
      <Json value={isJson ? readable(text) : text} />
    </div>
  );
}

function Compared({ artifact, against }: { readonly artifact: ArtifactOut; readonly against: string }) {
  const other = useArtifact(against);
  const isText = [artifact, other.data].every(
    (each) => each !== undefined && ["text", "json"].includes(lookOf(each.media_type, each.size)),
  );
  const [before, after] = [useContent(against, isText), useContent(artifact.id, isText)];
  const [old, young] = [useText(before.data), useText(after.data)];
  const problem = other.error ?? before.error ?? after.error;
  return (
    <Panel title="What is different">
      {problem !== null ? (
        <ProblemNotice problem={problem} />
      ) : other.data !== undefined && !isText ? (
        <p className="soft">
          {other.data.sha256 === artifact.sha256
            ? "Both are the same."
            : "They differ, but only texts can be compared here."}
        </p>
      ) : old === undefined || young === undefined ? (
        <Loading what="Reading both" />
      ) : (
        <TextDiff before={old} after={young} by="lines" />
      )}
    </Panel>
  );
}

function CompareForm({ against }: { readonly against: string | undefined }) {
  const [, setParams] = useSearchParams();
  const [other, setOther] = useState(against ?? "");
  const compare = (value: string | undefined) =>
    setParams((before) => {
      const after = new URLSearchParams(before);
      if (value === undefined) after.delete("against");
      else after.set("against", value);
      return after;
    });
  return (
    <form
      className={css.compare}
      onSubmit={(event) => {
        event.preventDefault();
        compare(other.trim());
      }}
    >
      <TextField
        label="Compare with the artifact"
        hint="Its hash or id; the older one."
        required
        value={other}
        onChange={(event) => setOther(event.target.value)}
      />
      <Button type="submit">Compare</Button>
      {against !== undefined && <Button onClick={() => compare(undefined)}>Stop comparing</Button>}
    </form>
  );
}
