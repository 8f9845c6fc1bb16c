// Uploads debug files in chunks, as sentry-cli does: those that the server has are not sent again.

import { useRef, useState } from "react";
import { request } from "../api/client";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Badge, Button, explain, Tone } from "../system/basics";
import { bytes, t, Text } from "../text";

const chunkInBytes = 8 << 20;
/** The server takes 32 MiB in a request, with what surrounds the chunks. */
const chunksInRequest = 3;
const longestWaitInSeconds = 900;

type State = "waiting" | "sending" | "assembling" | "ok" | "error";
const words: Record<State, { title: Text; tone: Tone }> = {
  waiting: { title: "Waiting", tone: "neutral" },
  sending: { title: "Being sent", tone: "accent" },
  assembling: { title: "Being read", tone: "accent" },
  ok: { title: "Ready", tone: "good" },
  error: { title: "Failed", tone: "bad" }
};

interface Upload {
  file: File;
  state: State;
  detail?: string;
}

/** Of a .dSYM, which is a folder, only the files with symbols. */
function symbolsIn(files: File[]): File[] {
  const isHidden = (file: File) => file.name.startsWith(".") || file.size === 0;
  const inBundle = (file: File) => file.webkitRelativePath.includes(".dSYM/");
  return files.filter((file) =>
    !isHidden(file) && (!inBundle(file) || file.webkitRelativePath.includes("/Contents/Resources/DWARF/"))
  );
}

export function SymbolUpload({ done }: { done: () => void }) {
  const place = usePlace();
  const [uploads, setUploads] = useState<Upload[]>([]);
  const [files, folder] = [useRef<HTMLInputElement | null>(null), useRef<HTMLInputElement | null>(null)];
  const isBusy = uploads.some((one) => one.state !== "ok" && one.state !== "error");
  const send = async (input: HTMLInputElement | null) => {
    const list: Upload[] = symbolsIn([...(input?.files ?? [])]).map((file) => ({ file, state: "waiting" }));
    if (input) input.value = "";
    setUploads(list);
    for (const one of list) {
      const tell = (state: State, detail?: string) => {
        Object.assign(one, { state, detail });
        setUploads([...list]);
      };
      await uploadFile(place, one.file, tell).catch((error) => tell("error", explain(error).detail));
    }
    done();
  };
  return (
    <div className="stack">
      <div className="row">
        <input
          ref={files}
          type="file"
          multiple
          className="hidden"
          aria-label={t("Debug files to upload")}
          tabIndex={-1}
          onChange={() => void send(files.current)} />
        <input
          ref={folder}
          type="file"
          webkitdirectory=""
          className="hidden"
          aria-label={t("Folder of debug files to upload")}
          tabIndex={-1}
          onChange={() => void send(folder.current)} />
        <Button icon="upload" isDisabled={isBusy} onPress={() => files.current?.click()}>{t("Upload files…")}</Button>
        <Button icon="folder" isDisabled={isBusy} onPress={() => folder.current?.click()}>
          {t("Upload a .dSYM folder…")}
        </Button>
      </div>
      {uploads.length > 0 && (
        <div className="stack" role="status" aria-label={t("Uploads")}>
          {uploads.map((one, index) => (
            <div key={index} className="row">
              <span className="strong">{one.file.name}</span>
              <span className="faint">{bytes(one.file.size)}</span>
              <Badge tone={words[one.state].tone}>{t(words[one.state].title)}</Badge>
              {one.detail && <span className="soft">{one.detail}</span>}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

/** Until the server has read the file. */
async function uploadFile(place: Place, file: File, tell: (state: State, detail?: string) => void): Promise<void> {
  tell("sending");
  const sha1 = await digest(file);
  const chunks: { sha1: string; content: Blob }[] = [];
  for (let start = 0; start < file.size; start += chunkInBytes) {
    const content = file.slice(start, start + chunkInBytes);
    chunks.push({ sha1: await digest(content), content });
  }
  const assemble = async () => {
    const body = { [sha1]: { name: file.name, chunks: chunks.map((chunk) => chunk.sha1) } };
    return (await callIn(place, "POST /admin/apps/{app}/crashes/symbols/assemble", { body }))[sha1];
  };
  let answer = await assemble();
  if (answer?.state === "not_found") {
    const missing = chunks.filter((chunk) => answer?.missingChunks?.includes(chunk.sha1));
    for (let first = 0; first < missing.length; first += chunksInRequest) {
      const form = new FormData();
      for (const chunk of missing.slice(first, first + chunksInRequest)) form.append("file", chunk.content, chunk.sha1);
      await request("POST /admin/apps/{app}/crashes/symbols/chunks", { ...given(place), body: form });
    }
    answer = await assemble();
  }
  tell("assembling");
  for (let second = 0; second < longestWaitInSeconds && isOpen(answer?.state); second++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    answer = await assemble();
  }
  if (answer?.state === "ok") tell("ok");
  else tell("error", answer?.detail ?? t("The server has not read the file. Upload it again later."));
}

const isOpen = (state: string | undefined) => state === "created" || state === "assembling";

async function digest(content: Blob): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-1", await content.arrayBuffer()));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
