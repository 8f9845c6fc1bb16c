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

/// Tests against a third-party OpenID Connect provider: PyPI's `oidc-provider-mock`, based on Authlib.
@Suite struct ForeignProviderTests {
    private static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap {
        $0.isEmpty ? nil : $0
    }

    /// Lends the provider's address.
    private func withProvider(_ body: (String) async throws -> Void) async throws {
        let (process, input) = (Process(), Pipe())
        let output = Pipe()
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../Support/oidc_provider.py"
        ).standardizedFileURL
        process.executableURL = URL(fileURLWithPath: try #require(Self.python))
        process.arguments = [script.path]
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, FileHandle.nullDevice)
        try process.run()
        defer { try? input.fileHandleForWriting.close() }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let issuer = line.trimmingCharacters(in: .whitespacesAndNewlines)
        try #require(issuer.hasPrefix("http://localhost:"))
        try await body(issuer)
    }

    /// Simulates the user's consent; returns the parameters of the provider's redirect.
    private func agree(at url: String) async throws -> [String: String] {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        request.body = .bytes(ByteBuffer(string: "sub=foreign-1"))
        let complete = request
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        let location = try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            let response = try await http.execute(complete, timeout: .seconds(60))
            #expect(response.status == .found)
            return try #require(response.headers.first(name: "location"))
        }
        return try fields(inQueryOf: location)
    }

    @Test(.enabled(if: python != nil))
    func `Staff sign in with a foreign provider once its verified address is linked`() async throws {
        try await withProvider { issuer in
            try await StaffClient.run { client, root async throws in
                try await client.setUp(issuer: issuer, as: root)
                func signIn() async throws -> Answer {
                    let back = try await client.callBack(try await agree(at: try await client.begin().url))
                    let call = try fields(inQueryOf: try #require(back.header("location")))
                    return try await client.finish(try #require(call["code"]))
                }
                #expect(try await signIn().isProblem(.signInFailed))
                let id = try await client.make("grace", by: root)
                #expect(try await client.link(id, #"{"email":"grace@example.org"}"#, as: root).status == 200)
                for _ in 0..<2 { #expect(try StaffTokens(try await signIn()).staffID == id) }
            }
        }
    }

    @Test(.enabled(if: python != nil))
    func `The code flow with a foreign provider signs users in by discovery alone`() async throws {
        try await withProvider { issuer in
            try await UserClient.run { client in
                let key = try await client.auth.credentials.create(
                    .client, environment: .live, label: "", of: client.app.id
                ).text.withValue { $0 }
                let body =
                    #"{"kind":"oidc","clientIDs":["martlet"],"clientSecret":"s","issuer":"\#(issuer)","redirectURLs":["com.example.shop:/signed-in"],"appKey":"\#(key)"}"#
                let set = try await client.master("PUT", "providers/acme", body)
                try #require(set.status == 200, "\(set)")
                for status in [201, 200] {
                    let (url, _) = try await client.begin()
                    let parameters = try await agree(at: url)
                    let call = try await client.callBack(parameters.map { ($0.key, $0.value) }).appRedirect()
                    let signedIn = try await client.finish(call["code"])
                    #expect(
                        signedIn.status == status && signedIn["user.email"] == #""grace@example.org""#, "\(signedIn)")
                    #expect(signedIn["user.emailVerified"] == "true" && signedIn["user.private.name"] == #""Grace""#)
                }
            }
        }
    }
}
