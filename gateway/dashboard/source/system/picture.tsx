// Pictures that only a signed-in member may see. Their address alone does not show them, because every call needs a
// header that an <img> does not send.

import { useEffect, useState } from "react";
import { request } from "../api/client";
import { Show } from "./basics";
import { useLoad } from "./load";

export function Picture({ blob, name, className = "preview" }: { blob: Blob; name: string; className?: string }) {
  const [address, setAddress] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return address ? <img className={className} src={address} alt={name} /> : null;
}

/** The picture that a call returns. `version` changes when another picture is stored there. */
export function StoredPicture(
  { call, path, version, name, className }: {
    call: string;
    path: Record<string, string | number>;
    version?: string;
    name: string;
    className?: string;
  }
) {
  const content = useLoad(
    async () => (await request(call, { path })).body as Blob,
    [call, JSON.stringify(path), version]
  );
  return <Show from={content} lines={1}>{(blob) => <Picture blob={blob} name={name} className={className} />}</Show>;
}
