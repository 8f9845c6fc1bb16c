# An unmodified tus client (tuspy): uploads a file in two sittings, as an app does that was closed in between.
import sys

from tusclient import client

url, secret, file, path = sys.argv[1:5]
tus = client.TusClient(url, headers={"X-Martlet-Secret": secret})
first = tus.uploader(file, chunk_size=300_000, metadata={"path": path, "filetype": "text/csv"})
first.upload_chunk()
first.upload_chunk()
second = client.TusClient(url, headers={"X-Martlet-Secret": secret}).uploader(file, url=first.url, chunk_size=400_000)
assert second.offset == 600_000, second.offset
second.upload()
print(second.offset)
