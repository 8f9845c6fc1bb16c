// The files of an app, folder by folder: uploads, previews, earlier versions.

import { useRef, useState } from "react";
import type { FileUsage } from "../../generated/api";
import { request } from "../api/client";
import { Problem } from "../api/problem";
import { given, usePlace } from "../shell/place";
import { Button, Empty, PageHead, sayProblem, Show } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { Icon } from "../system/icons";
import { useLoad, usePages } from "../system/load";
import { useOpened } from "../system/opened";
import { setQuery, useAddress } from "../system/router";
import { Table } from "../system/table";
import { say } from "../system/toast";
import { ago, bytes, number, plural, t } from "../text";
import { FileDialog } from "./FileDialog";

export interface StoredFile {
  name: string;
  path: string;
  isDirectory?: boolean;
  size?: number;
  contentType?: string;
  updated?: string;
  owner?: string;
  _readers?: string[];
  _writers?: string[];
  _version?: number;
}

/** The call's address for a path; a path that ends with a slash is a folder. */
export function addressOfFile(path: string, call = "upload"): string {
  const parts = path.split("/").map(encodeURIComponent).join("/");
  return `/admin/apps/{app}/${call}${parts ? "/" + parts : ""}`;
}

export function FilesPage() {
  const place = usePlace();
  const { query } = useAddress();
  const folder = query.get("folder") ?? "";
  const list = usePages<StoredFile>(
    async (after) =>
      (await request("GET " + addressOfFile(folder), { ...given(place), query: { after, limit: 100 } })).body,
    [place.app.id, place.environment, folder]
  );
  const [shown, show] = useOpened(
    list.data,
    (file) => (file.isDirectory ? "" : file.path),
    async (path) =>
      path.endsWith("/") ?
        undefined :
        (await request("GET " + addressOfFile(path), { ...given(place), query: { info: true } })).body
  );
  const open = (file: StoredFile) =>
    file.isDirectory ? setQuery({ folder: file.path }, { replace: false }) : show(file);
  return (
    <div className="page">
      <PageHead title={t("Files")} note={<Usage on={list.data} />}>
        {place.may("storage", "create") && place.may("storage", "update") && (
          <Upload folder={folder} done={list.reload} />
        )}
      </PageHead>
      <Folders folder={folder} />
      <Show from={list}>
        {(rows) => (
          <Table
            label={t("Files")}
            rows={rows}
            id={(file) => file.path}
            open={open}
            hasMore={list.hasMore}
            more={list.more}
            empty={
              <Empty icon="file" title={folder ? t("This folder is empty") : t("No files yet")}>
                {t("Folders appear by themselves with the first file in them.")}
              </Empty>
            }
            columns={[
              {
                name: "name",
                title: t("Name"),
                cell: (file) => (
                  <button type="button" className="link" onClick={() => open(file)}>
                    <Icon name={file.isDirectory ? "folder" : "file"} />
                    {file.name}
                  </button>
                )
              },
              {
                name: "kind",
                title: t("Kind"),
                width: "190px",
                isExtra: true,
                cell: (file) => <span className="soft">{file.isDirectory ? t("Folder") : file.contentType}</span>
              },
              {
                name: "size",
                title: t("Size"),
                width: "110px",
                isNumber: true,
                cell: (file) => file.size === undefined ? "" : bytes(file.size)
              },
              {
                name: "updated",
                title: t("Changed"),
                width: "140px",
                isExtra: true,
                cell: (file) => <span className="soft">{file.updated && ago(file.updated)}</span>
              }
            ]} />
        )}
      </Show>
      {shown && shown !== "new" && <FileDialog file={shown} close={() => show(null)} changed={list.reload} />}
    </div>
  );
}

function Folders({ folder }: { folder: string }) {
  if (!folder) return null;
  const names = folder.split("/").filter(Boolean);
  return (
    <nav className="row" aria-label={t("Folder")}>
      <Button isSmall kind="quiet" onPress={() => setQuery({ folder: "" }, { replace: false })}>
        {t("All files")}
      </Button>
      {names.map((name, index) => (
        <span className="row" key={index}>
          <span className="faint">/</span>
          <Button
            isSmall
            kind="quiet"
            onPress={() => setQuery({ folder: names.slice(0, index + 1).join("/") + "/" }, { replace: false })}>
            {name}
          </Button>
        </span>
      ))}
    </nav>
  );
}

function Usage({ on }: { on: unknown }) {
  const place = usePlace();
  const usage = useLoad(
    async () => (await request("GET /admin/apps/{app}/files/usage", given(place))).body as FileUsage,
    [place.app.id, place.environment, on]
  );
  if (!usage.data) return null;
  const { files, bytes: size, maximumBytes, maximumFiles } = usage.data;
  return (
    <>
      {plural(files, "{n} file", "{n} files")}
      {maximumFiles !== undefined && ` / ${number(maximumFiles)}`} · {bytes(size)}
      {maximumBytes !== undefined && ` / ${bytes(maximumBytes)}`}
    </>
  );
}

function Upload({ folder, done }: { folder: string; done: () => void }) {
  const place = usePlace();
  const input = useRef<HTMLInputElement | null>(null);
  const [dialog, ask] = useConfirm();
  const [isBusy, setBusy] = useState(false);
  const store = async (file: File, headers: Record<string, string>) => {
    await request("PUT " + addressOfFile(folder + file.name), { ...given(place), body: file, headers });
    say(t("{name} is stored", { name: file.name }));
    done();
  };
  const upload = async (file: File) => {
    try {
      await store(file, { "if-none-match": "*" });
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 412) throw error;
      ask({
        title: t("Replace {name}?", { name: file.name }),
        action: t("Replace"),
        text: t("There is a file with this name. The earlier version stays in its history."),
        act: () => store(file, {})
      });
    }
  };
  const send = async () => {
    const files = Array.from(input.current?.files ?? []);
    if (input.current) input.current.value = "";
    setBusy(true);
    try {
      for (const file of files) await upload(file);
    } catch (error) {
      sayProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        className="hidden"
        aria-label={t("Files to upload")}
        tabIndex={-1}
        onChange={() => void send()} />
      <Button kind="primary" icon="upload" isDisabled={isBusy} onPress={() => input.current?.click()}>
        {t("Upload")}
      </Button>
      {dialog}
    </>
  );
}
