import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import NIOCore
import NIOHTTP1
import Testing

@testable import AuthService

/// Against an OpenID Connect provider that others wrote: PyPI's `oidc-provider-mock`, on Authlib.
@Suite struct ForeignProviderTests {
    private static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap { $0.isEmpty ? nil : $0 }

    @Test(.enabled(if: python != nil))
    func `The code flow with a foreign provider signs in, by discovery alone`() async throws {
        let (process, input) = (Process(), Pipe())
        let output = Pipe()
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../Support/oidc_provider.py").standardizedFileURL
        process.executableURL = URL(fileURLWithPath: try #require(Self.python))
        process.arguments = [script.path]
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, FileHandle.nullDevice)
        try process.run()
        defer { try? input.fileHandleForWriting.close() }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let issuer = line.trimmingCharacters(in: .whitespacesAndNewlines)
        try #require(issuer.hasPrefix("http://localhost:"))

        try await UserClient.run { client in
            let key = try await client.auth.credentials.create(.client, environment: .live, label: "", of: client.app.id).text.withValue { $0 }
            let body = #"{"kind":"oidc","clientIDs":["martlet"],"clientSecret":"s","issuer":"\#(issuer)","redirectURLs":["com.example.shop:/signed-in"],"appKey":"\#(key)"}"#
            let set = try await client.master("PUT", "providers/acme", body)
            try #require(set.status == 200, "\(set)")
            for status in [201, 200] {
                let (url, _) = try await client.begin()
                // The user clicks.
                var request = HTTPClientRequest(url: url)
                request.method = .POST
                request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
                request.body = .bytes(ByteBuffer(string: "sub=foreign-1"))
                var configuration = HTTPClient.Configuration()
                configuration.redirectConfiguration = .disallow
                let location = try await HTTPClient.withHTTPClient(configuration: configuration) { http in
                    let response = try await http.execute(request, timeout: .seconds(60))
                    #expect(response.status == .found)
                    return try #require(response.headers.first(name: "location"))
                }
                let parameters = try fields(inQueryOf: location)
                let call = try await client.callBack(parameters.map { ($0.key, $0.value) }).appCall()
                let signedIn = try await client.finish(call["code"])
                #expect(signedIn.status == status && signedIn["user.email"] == #""grace@example.org""#, "\(signedIn)")
                #expect(signedIn["user.emailVerified"] == "true" && signedIn["user.private.name"] == #""Grace""#)
            }
        }
    }
}
