import MartletAPI
import MartletTesting
import Testing

@testable import AuthService

@Suite struct PasskeySettingsTests {
    private static let none = #"{"origins":[],"rpId":null,"rpName":null}"#

    @Test func `The app's server sets the relying party of passkeys`() async throws {
        try await UserClient.run { client in
            let unset = try await client.master("GET", "passkeys/settings")
            #expect(unset.status == 200 && unset.text == Self.none, "\(unset)")
            #expect(try await client.master("DELETE", "passkeys/settings").isProblem(.notFound))
            for path in ["passkeys/options", "passkeys/signup/options"] {
                #expect(
                    try await client.send("POST", path, path.contains("signup") ? #"{"userName":"anna"}"# : nil)
                        .isProblem(.notFound), "\(path)")
            }
            let body =
                #"{"origins":["https://example.org","https://a.example.org:8443","android:apk-key-hash:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],"rpId":"example.org","rpName":"Shop"}"#
            let set = try await client.master("PUT", "passkeys/settings", body)
            #expect(set.status == 200 && set.text == body, "\(set)")
            #expect(try await client.master("GET", "passkeys/settings").text == body)
            // Only the app's server can change them, and they apply to live only.
            for method in ["GET", "PUT", "DELETE"] {
                #expect(
                    try await client.send(method, "passkeys/settings", method == "PUT" ? body : nil).isProblem(
                        .forbidden), "\(method)")
            }
            var test = client
            test.environment = .test
            #expect(try await test.master("GET", "passkeys/settings").text == Self.none)
            let changed = try await client.master(
                "PUT", "passkeys/settings", #"{"rpId":"localhost","rpName":"Shop","origins":["http://localhost:3000"]}"#
            )
            #expect(changed.status == 200 && changed.string("rpId") == "localhost", "\(changed)")
            #expect(try await client.master("DELETE", "passkeys/settings").status == 204)
            #expect(try await client.send("POST", "passkeys/options").isProblem(.notFound))
        }
    }

    @Test func `With another relying party older passkeys do not work, and with the old one they work again`()
        async throws
    {
        try await UserClient.runWithPasskeys { client in
            var device = SoftPasskey()
            _ = try await client.signUp(by: &device)
            _ = try await client.master(
                "PUT", "passkeys/settings", #"{"rpId":"example.net","rpName":"Shop","origins":["https://example.net"]}"#
            )
            #expect(try await client.signIn(by: &device).isProblem(.signInFailed))
            var other = device
            other.origin = "https://example.net"
            #expect(try await client.signIn(by: &other).isProblem(.signInFailed))
            try await client.allowPasskeys()
            #expect(try await client.signIn(by: &device).status == 200)
        }
    }

    @Test(arguments: [
        (#"{"rpName":"Shop","origins":["https://example.org"]}"#, "rpId"),
        (#"{"rpId":"https://example.org","rpName":"Shop","origins":["https://example.org"]}"#, "rpId"),
        (#"{"rpId":"Example.org","rpName":"Shop","origins":["https://example.org"]}"#, "rpId"),
        (#"{"rpId":"org","rpName":"Shop","origins":["https://example.org"]}"#, "rpId"),
        (#"{"rpId":"10.0.0.1","rpName":"Shop","origins":["https://10.0.0.1"]}"#, "rpId"),
        (#"{"rpId":"exämple.org","rpName":"Shop","origins":["https://exämple.org"]}"#, "rpId"),
        (#"{"rpId":"example..org","rpName":"Shop","origins":["https://example.org"]}"#, "rpId"),
        (#"{"rpId":"-a.example.org","rpName":"Shop","origins":["https://-a.example.org"]}"#, "rpId"),
        (#"{"rpId":"example.org","origins":["https://example.org"]}"#, "rpName"),
        (#"{"rpId":"example.org","rpName":"","origins":["https://example.org"]}"#, "rpName"),
        (#"{"rpId":"example.org","rpName":"Shop"}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":[]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":"https://example.org"}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://example.org","https://example.org"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["http://example.org"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://example.org/"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://example.org:443"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://example.org:0443"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://user@example.org"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://example.org#x"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://badexample.org"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://example.org.evil.com"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["*"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["https://*.example.org"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["android:apk-key-hash:AAAA"]}"#, "origins"),
        (#"{"rpId":"example.org","rpName":"Shop","origins":["ios:bundle-id:org.example"]}"#, "origins"),
        (
            #"{"rpId":"example.org","rpName":"Shop","origins":["https://example.org"],"attestation":"direct"}"#,
            "attestation"
        ),
    ])
    func `A relying party that is missing or too broad is refused`(body: String, field: String) async throws {
        try await UserClient.run { client in
            let answer = try await client.master("PUT", "passkeys/settings", body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await client.master("GET", "passkeys/settings").text == Self.none)
        }
    }
}
