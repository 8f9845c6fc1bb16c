import MartletCore
import Testing

@testable import MartletFiles

/// The examples in AWS's "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)".
@Suite struct SignatureV4Tests {
    struct Example: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var method = "GET"
        var path = "/"
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        var payload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        var signature: String
    }

    static let examples = [
        Example(
            testDescription: "GET Object", path: "/test.txt", headers: [("Range", "bytes=0-9")],
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        Example(
            testDescription: "PUT Object", method: "PUT", path: "/test%24file.text",
            headers: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            payload: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        Example(
            testDescription: "GET Bucket Lifecycle", query: [("lifecycle", "")],
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        Example(
            testDescription: "Get Bucket (List Objects)", query: [("prefix", "J"), ("max-keys", "2")],
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    @Test(arguments: examples)
    func `a request is signed as by AWS`(_ example: Example) {
        let signature = SignatureV4(
            accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            region: "us-east-1")
        let headers =
            example.headers + [
                ("x-amz-date", "20130524T000000Z"), ("Host", "examplebucket.s3.amazonaws.com"),
                ("x-amz-content-sha256", example.payload),
            ]
        let authorization = signature.authorization(
            method: example.method, path: example.path, query: example.query, headers: headers,
            payloadSHA256: example.payload,
            timestamp: "20130524T000000Z")
        #expect(authorization.hasSuffix("Signature=" + example.signature), "\(authorization)")
        #expect(
            authorization.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders="))
    }

    @Test(arguments: [
        ("/a b", "%2Fa%20b"), ("$&+", "%24%26%2B"), ("ü~-_.", "%C3%BC~-_."), ("\u{1}", "%01"), ("²", "%C2%B2"),
    ])
    func `all but unreserved characters are escaped`(_ text: String, _ encoded: String) {
        #expect(SignatureV4.encoded(text) == encoded)
    }
}
