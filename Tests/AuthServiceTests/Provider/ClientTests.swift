import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct ClientTests {
    @Test func `The app's server creates, reads, changes and deletes clients`() async throws {
        try await UserClient.run { client async throws in
            let made = try await client.master(
                "POST", "clients", #"{"name":"Calendar","redirectUris":["https://calendar.example/back"]}"#)
            #expect(made.status == 201 && made.header("cache-control") == "no-store", "\(made)")
            let (id, secret) = (try #require(made.string("id")), try #require(made.string("secret")))
            #expect(secret.hasPrefix("mcs_") && secret.count == 47 && made.string("type") == "confidential")
            #expect(made["scopes"] == #"["openid","profile","email","offline_access"]"#)
            let read = try await client.master("GET", "clients/\(id)")
            #expect(
                read.status == 200 && read.string("name") == "Calendar" && !read.text.contains(secret)
                    && read["secret"] == nil, "\(read)")
            let stored: String = try await client.auth.postgres.query(
                "SELECT row_to_json(c)::text FROM auth.clients AS c")[0].decode(0)
            #expect(!stored.contains(secret))

            let changed = try await client.master(
                "PUT", "clients/\(id)",
                #"{"name":"Diary","redirectUris":["com.example.diary:/back"],"postLogoutRedirectUris":["com.example.diary:/out"],"scopes":["openid"]}"#
            )
            #expect(
                changed["postLogoutRedirectUris"] == #"["com.example.diary:/out"]"#
                    && made["postLogoutRedirectUris"] == "[]")
            #expect(
                changed.status == 200 && changed.string("name") == "Diary" && changed["scopes"] == #"["openid"]"#,
                "\(changed)")
            let renewed = try await client.master("POST", "clients/\(id)/secret")
            #expect(
                renewed.status == 200 && renewed.string("secret") != secret && renewed.string("secret") != nil,
                "\(renewed)")

            let open = try await client.master(
                "POST", "clients", #"{"name":"App","type":"public","redirectUris":["http://127.0.0.1/back"]}"#)
            #expect(open.status == 201 && open["secret"] == nil && open.string("type") == "public", "\(open)")
            #expect(
                try await client.master("POST", "clients/\(try #require(open.string("id")))/secret").isProblem(
                    .conflict))
            #expect(try await client.master("GET", "clients")["count"] == "2")
            #expect(try await client.master("DELETE", "clients/\(id)").status == 204)
            for (method, path, body) in [
                ("GET", "", nil), ("DELETE", "", nil), ("POST", "/secret", nil),
                ("PUT", "", #"{"name":"x","redirectUris":["https://x.example/"]}"#),
            ] {
                #expect(
                    try await client.master(method, "clients/\(id)\(path)", body).isProblem(.clientNotFound),
                    "\(method)")
            }
            #expect(try await client.master("GET", "clients/x").isProblem(.clientNotFound))
        }
    }

    @Test func `Invalid fields are refused by name, and nothing is written`() async throws {
        try await UserClient.run { client async throws in
            let address = #""redirectUris":["https://x.example/"]"#
            for (body, field) in [
                (#"{\#(address)}"#, "name"), (#"{"name":"",\#(address)}"#, "name"),
                (#"{"name":"a\u0007",\#(address)}"#, "name"),
                (#"{"name":"\#(String(repeating: "x", count: 101))",\#(address)}"#, "name"),
                (#"{"name":"x"}"#, "redirectUris"),
                (#"{"name":"x","redirectUris":[]}"#, "redirectUris"),
                (#"{"name":"x","redirectUris":[1]}"#, "redirectUris"),
                (#"{"name":"x","redirectUris":["javascript:alert(1)"]}"#, "redirectUris"),
                (#"{"name":"x","scopes":["admin"],\#(address)}"#, "scopes"),
                (#"{"name":"x","scopes":[],\#(address)}"#, "scopes"),
                (#"{"name":"x","type":"both",\#(address)}"#, "type"),
                (#"{"name":"x","idTokenSignedResponseAlg":"none",\#(address)}"#, "idTokenSignedResponseAlg"),
                (#"{"name":"x","idTokenSignedResponseAlg":"HS256",\#(address)}"#, "idTokenSignedResponseAlg"),
                (#"{"name":"x","idTokenSignedResponseAlg":["ES256"],\#(address)}"#, "idTokenSignedResponseAlg"),
                (#"{"name":"x","secret":"s",\#(address)}"#, "secret"),
                (
                    #"{"name":"x","postLogoutRedirectUris":["https://x.example/#f"],\#(address)}"#,
                    "postLogoutRedirectUris"
                ),
                (#"{"name":"x","postLogoutRedirectUris":"https://x.example/",\#(address)}"#, "postLogoutRedirectUris"),
            ] {
                #expect(
                    try await client.master("POST", "clients", body).isProblem(.invalidBody, field: field), "\(body)")
            }
            #expect(try await client.count("SELECT count(*) FROM auth.clients") == 0)
        }
    }

    @Test func `Clients belong to one app and environment, and only its server manages them`() async throws {
        try await TestProvider.run { provider async throws in
            let anna = try await provider.users.signUp()
            let one = "clients/\(provider.client.id)"
            for (method, path) in [("GET", "clients"), ("GET", one), ("DELETE", one), ("POST", one + "/secret")] {
                #expect(try await provider.users.send(method, path).isProblem(.forbidden))
                #expect(try await provider.users.send(method, path, as: anna).isProblem(.forbidden))
            }
            #expect(try await provider.visitor.send("GET", "/auth/clients").isProblem(.forbidden))
            let body = #"{"name":"x","redirectUris":["https://x.example/"]}"#
            #expect(try await provider.users.send("POST", "clients", body).isProblem(.forbidden))
            #expect(try await provider.users.send("PUT", "clients/\(provider.client.id)", body).isProblem(.forbidden))
            var test = provider.users
            test.environment = .test
            #expect(try await test.master("GET", "clients")["count"] == "0")
            #expect(try await test.master("DELETE", "clients/\(provider.client.id)").isProblem(.clientNotFound))
            let other = UserClient(
                auth: provider.users.auth, app: try await provider.users.auth.apps.create(name: "Other"))
            #expect(try await other.master("GET", "clients/\(provider.client.id)").isProblem(.clientNotFound))
        }
    }

    /// The route for visitors leads to the provider, and to nothing else of the service.
    @Test func `Visitors reach only the provider's endpoints`() async throws {
        try await TestProvider.run { provider async throws in
            for (method, path) in [
                ("GET", "/internal/keyring"), ("GET", "/internal/revocations"), ("POST", "/internal/credentials/used"),
                ("POST", "/auth/login"),
                ("POST", "/auth/signup"), ("GET", "/auth/users"), ("POST", "/auth/refresh"), ("GET", "/auth/clients"),
                ("GET", "/auth/me"), ("GET", "/auth/sessions"), ("GET", "/auth/me/grants"),
            ] {
                #expect(
                    try await provider.visitor.send(method, path, method == "POST" ? "{}" : nil).isProblem(.forbidden),
                    "\(path)")
            }
            // Other callers do not reach the provider either.
            #expect(
                try await provider.users.auth.gateway.get(provider.path + "/.well-known/openid-configuration")
                    .isProblem(.forbidden))
        }
    }
}
