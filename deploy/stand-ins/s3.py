"""An S3 store in memory, on port 9000, with the buckets that are named as arguments."""
import sys, threading

import boto3
from moto.server import ThreadedMotoServer

ThreadedMotoServer(ip_address="0.0.0.0", port=9000, verbose=False).start()
client = boto3.client("s3", region_name="us-east-1", endpoint_url="http://127.0.0.1:9000", aws_access_key_id="x", aws_secret_access_key="y")
for bucket in sys.argv[1:]:
    client.create_bucket(Bucket=bucket)
print("ready", flush=True)
threading.Event().wait()
