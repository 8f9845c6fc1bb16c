import Testing

@testable import MartletFiles

/// Behaviour that S3 servers may have and the test server does not.
@Suite struct S3Tests {
    private static func answer(_ keys: [String], _ end: String, modified: String = "2026-01-02T03:04:05.000Z") -> String
    {
        let entries = keys.map { "<Contents><Key>\($0)</Key><LastModified>\(modified)</LastModified></Contents>" }
        return "<ListBucketResult>\(end)\(entries.joined())</ListBucketResult>"
    }

    private static let id = "0123456789abcdef0123456789abcdef"

    @Test func `the flag of a page, not its length, decides whether more pages follow`() throws {
        let more = "<IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>"
        for keys in [[], ["app_a/01/\(Self.id)"], ["app_a/strange", "app_a/01/\(Self.id)", "app_a/zz/"]] {
            let page = try S3Files.page(Self.answer(keys, more), of: "app_a")
            #expect(page.next == "a&b" && page.blobs.map(\.id) == (keys.isEmpty ? [] : [Self.id]))
        }
        let odd = try S3Files.page(Self.answer(["app_a/01/\(Self.id)"], more, modified: "yesterday"), of: "app_a")
        #expect(odd == BlobPage(blobs: [], next: "a&b"))
        #expect(
            try S3Files.page(Self.answer([], "<IsTruncated>false</IsTruncated>"), of: "app_a") == BlobPage(blobs: []))
    }

    @Test(arguments: ["", "<IsTruncated>true</IsTruncated>", "<html>"])
    func `a page that does not say where the list continues is refused`(_ end: String) {
        #expect(throws: FileError.self) { try S3Files.page(Self.answer([], end), of: "app_a") }
    }

    @Test(arguments: [
        ("https://s3.example.org:443", "https://s3.example.org", "s3.example.org"),
        ("http://minio:80/", "http://minio", "minio"),
        ("https://minio:80", "https://minio:80", "minio:80"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000", "127.0.0.1:9000"),
        ("https://s3.example.org", "https://s3.example.org", "s3.example.org"),
    ])
    func `the signed host is the one that is sent, without the scheme's default port`(
        _ endpoint: String, _ base: String, _ host: String
    ) throws {
        let address = try S3Client.address(endpoint)
        #expect(address.base == base && address.host == host)
    }

    @Test(arguments: ["", "s3.example.org", "ftp://a", "https://a/b", "https://u@a", "https://a?b"])
    func `an endpoint consists of scheme and host`(_ endpoint: String) {
        #expect(throws: S3Files.InvalidEndpoint.self) { try S3Client.address(endpoint) }
    }
}
