import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite(.serialized) struct StrictBodyTests {
    @Test func `settings without a body, or with an unknown member, stay unchanged`() async throws {
        try await UserClient.run { client in
            let set = try await client.master("PUT", "settings", #"{"inviteOnly":true}"#)
            let before = try await client.master("GET", "settings").text
            #expect(set.status == 200 && before.contains(#""inviteOnly":true"#), "\(set)")
            #expect(try await client.master("PUT", "settings", nil).isProblem(.invalidJSON))
            #expect(try await client.master("PUT", "settings", "").isProblem(.invalidJSON))
            for (body, code) in [
                (#"{"inviteonly":false}"#, ErrorCode.invalidBody),
                (#"{"inviteOnly":false,"inviteOnly":false}"#, .invalidBody), (#"{"inviteOnly":false,}"#, .invalidJSON),
                ("[]", .invalidBody),
            ] {
                #expect(
                    try await client.master("PUT", "settings", body).isProblem(
                        code, field: body.contains("inviteonly") ? "inviteonly" : nil), "\(body)")
            }
            #expect(try await client.master("GET", "settings").text == before)
        }
    }

    @Test(arguments: [
        ("POST", "signup", #"{"userName":"anna","password":"correct horse","emal":"a@example.org"}"#, "emal"),
        ("POST", "login", #"{"userName":"anna","pasword":"x"}"#, "pasword"),
        ("POST", "anonymous", #"{"devise":"x"}"#, "devise"),
        ("POST", "refresh", #"{"refreshtoken":"x"}"#, "refreshtoken"),
        ("POST", "password/reset", #"{"mail":"a@example.org"}"#, "mail"),
    ]) func `an unknown member is refused, and no user is created`(
        _ method: String, _ path: String, _ body: String, _ field: String
    ) async throws {
        try await UserClient.run { client in
            let answer = try await client.send(method, path, body)
            #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            #expect(try await client.count("SELECT count(*) FROM auth.users") == 0)
        }
    }
}
