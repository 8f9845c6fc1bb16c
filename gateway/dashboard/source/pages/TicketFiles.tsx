// Files attached to a ticket.

import { useRef, useState } from "react";
import { callIn, given, usePlace } from "../shell/place";
import { download, request } from "../api/client";
import { Button, sayProblem, Section } from "../system/basics";
import { useConfirm } from "../system/dialog";
import { say } from "../system/toast";
import { bytes, t } from "../text";

interface Attachment {
  number: number;
  name: string;
  size: number;
}

const address = "/admin/apps/{app}/tickets/{ticket}/attachments";

export function TicketFiles(
  { ticket, files, changed }: { ticket: string; files: Attachment[]; changed: () => void }
) {
  const place = usePlace();
  const [dialog, ask] = useConfirm();
  const canUpdate = place.may("tickets", "update");
  const input = useRef<HTMLInputElement | null>(null);
  const [isBusy, setBusy] = useState(false);
  const upload = async () => {
    setBusy(true);
    try {
      for (const file of input.current?.files ?? []) {
        const headers = { "content-type": file.type || "application/octet-stream" };
        const query = { name: file.name };
        await request("POST " + address, { ...given(place, { ticket }), query, body: file, headers });
      }
      say(t("Uploaded"));
    } catch (error) {
      sayProblem(error);
    }
    if (input.current) input.current.value = "";
    setBusy(false);
    changed();
  };
  const remove = (file: Attachment) =>
    ask({
      title: t("Delete {name}?", { name: file.name }),
      action: t("Delete"),
      text: t("It will be deleted for good."),
      act: async () => {
        await callIn(place, "DELETE /admin/apps/{app}/tickets/{ticket}/attachments/{attachment}", {
          path: { ticket, attachment: file.number }
        });
        changed();
      }
    });
  if (files.length === 0 && !canUpdate) return null;
  return (
    <Section
      title={t("Attachments")}
      actions={canUpdate && (
        <>
          <input
            ref={input}
            type="file"
            multiple
            className="hidden"
            aria-label={t("Files to attach, at most 20 MB each")}
            tabIndex={-1}
            onChange={() => void upload()} />
          <Button icon="upload" isSmall isDisabled={isBusy} onPress={() => input.current?.click()}>
            {t("Upload")}
          </Button>
        </>
      )}>
      {files.map((file) => (
        <div className="row" key={file.number}>
          <button
            type="button"
            className="link"
            onClick={() =>
              void download(`GET ${address}/{attachment}`, given(place, { ticket, attachment: file.number }), file.name)
                .catch(sayProblem)}>
            {file.name}
          </button>
          <span className="faint">{bytes(file.size)}</span>
          {canUpdate && (
            <Button
              icon="trash"
              kind="quiet"
              isSmall
              label={t("Delete {name}", { name: file.name })}
              onPress={() => remove(file)} />
          )}
        </div>
      ))}
      {dialog}
    </Section>
  );
}
