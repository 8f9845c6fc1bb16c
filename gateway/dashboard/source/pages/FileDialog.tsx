// One file: a preview, its earlier versions, and what can be done with it.

import { download, request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Button, Show } from "../system/basics";
import { Dialog, useConfirm } from "../system/dialog";
import { useLoad, usePages } from "../system/load";
import { Picture } from "../system/picture";
import { Table } from "../system/table";
import { ago, bytes, t, time } from "../text";
import { addressOfFile, StoredFile } from "./Files";

const maximumTextInBytes = 200_000;
const maximumPictureInBytes = 5_000_000;
const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

export function FileDialog({ file, close, changed }: { file: StoredFile; close: () => void; changed: () => void }) {
  const place = usePlace();
  const [dialog, ask] = useConfirm();
  const remove = () =>
    ask({
      title: t("Delete {name}?", { name: file.name }),
      action: t("Delete"),
      text: t("It will be deleted for good."),
      act: async () => {
        await request("DELETE " + addressOfFile(file.path), given(place));
        changed();
        close();
      }
    });
  return (
    <Dialog title={file.name} close={close} isWide>
      <Preview file={file} />
      <dl className="facts">
        <dt>{t("Path")}</dt>
        <dd className="break">{file.path}</dd>
        <dt>{t("Size")}</dt>
        <dd>{bytes(file.size ?? 0)} · {file.contentType}</dd>
        {file.updated && (
          <>
            <dt>{t("Changed")}</dt>
            <dd>{time(file.updated)}</dd>
          </>
        )}
        <dt>{t("Readers")}</dt>
        <dd>{file._readers?.join(", ") || t("as the rules say")}</dd>
      </dl>
      <Uploads file={file} />
      <footer>
        {place.may("storage", "delete") && <Button kind="danger" onPress={remove}>{t("Delete")}</Button>}
        <Button icon="download" onPress={() => download("GET " + addressOfFile(file.path), given(place), file.name)}>
          {t("Download")}
        </Button>
      </footer>
      {dialog}
    </Dialog>
  );
}

type Shown = { text: string } | { picture: Blob } | null;

function Preview({ file }: { file: StoredFile }) {
  const place = usePlace();
  const kind = file.contentType?.split(";")[0] ?? "";
  const size = file.size ?? 0;
  const content = useLoad<Shown>(async () => {
    const isText = kind.startsWith("text/") || kind === "application/json";
    const isPicture = pictures.includes(kind) && size <= maximumPictureInBytes;
    if (!isPicture && !(isText && size <= maximumTextInBytes)) return null;
    const { body } = await request("GET " + addressOfFile(file.path), given(place));
    if (isPicture) return { picture: body as Blob };
    return { text: body instanceof Blob ? await body.text() : JSON.stringify(body, null, 2) };
  }, [file.path, place.environment]);
  return (
    <Show from={content} lines={3}>
      {(shown) =>
        shown === null ?
          <p className="faint">{t("There is no preview of this kind or size. Download it to see it.")}</p> :
          "picture" in shown ?
          <Picture blob={shown.picture} name={file.name} /> :
          <pre className="json-view" tabIndex={0}>{shown.text}</pre>}
    </Show>
  );
}

interface UploadEntry {
  id: number;
  at: string;
  size: number;
  _version?: number;
  uploader?: string;
}

function Uploads({ file }: { file: StoredFile }) {
  const place = usePlace();
  const list = usePages<UploadEntry>(
    async (before) =>
      (await request("GET " + addressOfFile(file.path, "upload-history"), {
        ...given(place),
        query: { before, limit: 20 }
      })).body,
    [file.path, place.environment]
  );
  return (
    <Show from={list} lines={1}>
      {(rows) => (
        <Table
          label={t("Uploads")}
          rows={rows}
          id={(one) => one.id}
          hasMore={list.hasMore}
          more={list.more}
          columns={[
            { name: "version", title: t("Version"), width: "90px", cell: (one) => one._version },
            {
              name: "at",
              title: t("Uploaded"),
              cell: (one) => <span className="soft" title={time(one.at)}>{ago(one.at)}</span>
            },
            {
              name: "by",
              title: t("By"),
              isExtra: true,
              cell: (one) => <code className="soft">{one.uploader ?? t("the app's server")}</code>
            },
            { name: "size", title: t("Size"), width: "110px", isNumber: true, cell: (one) => bytes(one.size) }
          ]} />
      )}
    </Show>
  );
}
