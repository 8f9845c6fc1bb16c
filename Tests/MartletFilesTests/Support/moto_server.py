# An S3 server that checks signatures (moto), for S3FilesTests: prints its address and keys, and exits when its input ends.
import json, os, sys

# So many calls are let through unchecked; they are those below.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"
import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
endpoint = f"http://{host}:{port}"
made = {"region_name": "us-east-1", "endpoint_url": endpoint, "aws_access_key_id": "x", "aws_secret_access_key": "y"}
iam = boto3.client("iam", **made)
iam.create_user(UserName="martlet")
policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
iam.put_user_policy(UserName="martlet", PolicyName="all", PolicyDocument=json.dumps(policy))
key = iam.create_access_key(UserName="martlet")["AccessKey"]
boto3.client("s3", **made).create_bucket(Bucket="files")
print(json.dumps({"endpoint": endpoint, "accessKey": key["AccessKeyId"], "secretKey": key["SecretAccessKey"]}), flush=True)
sys.stdin.read()
server.stop()
