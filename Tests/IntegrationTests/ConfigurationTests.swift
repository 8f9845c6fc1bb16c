import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    /// Remote configuration through the gateway, from publishing to the version that lists of objects
    /// announce.
    @Suite(.localServer)
    struct ConfigurationTests {
        let server: LocalServer
        let client: Client
        let master: Client

        init() async throws {
            server = try .current
            let app = try await server.makeApp("Configured")
            client = server.client(app)
            master = Client(
                url: server.connection.url, appKey: app.appKey, headers: [HeaderName.masterKey: app.masterKey])
        }

        @Test func `a published configuration is read, announced in lists, and served without config's database`()
            async throws
        {
            try await eventually("the gateway knows the app") { try await client.get("storage/Note").status == 200 }
            #expect(try await client.get("storage/Note")["config.version"] == "null")
            #expect(try await client.get("remote/1.0").isProblem(.documentNotFound))
            let body =
                #"{"appVersion":"1.0","theme":"Dark","configuration":{"version":"1.0.1","mainSettings":{"size":1.0}}}"#
            #expect(try await client.post("remote", body).isProblem(.forbidden))
            let published = try await master.post("remote", body)
            #expect(published.status == 201, "\(published)")

            try await eventually("it is live") { try await client.get("remote/1.0/Dark").status == 200 }
            let read = try await client.get("remote/1.0/Dark")
            #expect(
                read.status == 200 && read["mainSettings.size"] == "1.0" && read.string("config.version") == "1.0.1",
                "\(read)")
            let tag = try #require(read.header("etag"))
            let again = try await client.adding("if-none-match", tag).get("remote/1.2")
            #expect(again.status == 304 && again.text.isEmpty, "\(again)")

            try await eventually("lists announce the version") {
                try await client.get("storage/Note").string("config.version") == "1.0.1"
            }
            let list = try await client.get("storage/Note")
            let date = try #require(read.string("config.date"))
            #expect(
                list.string("config.date") == date
                    && list.header(HeaderName.configVersion) == "\"1.0.1\";date=\"\(date)\"", "\(list)")

            #expect(try await master.post("remote", body.replacing("1.0.1", with: "1.0.2")).status == 201)
            try await eventually("lists announce the next version") {
                try await client.get("storage/Note").string("config.version") == "1.0.2"
            }
            try await eventually("a client with the old version gets the next") {
                try await client.adding("if-none-match", tag).get("remote/1.0").status == 200
            }

            try await server.withoutSupervisor {
                try server.signal("config", SIGKILL)
                #expect(
                    try await client.get("storage/Note").string("config.version") == "1.0.2",
                    "the last known version is kept")
            }
            try await eventually("config is ready again", within: .seconds(180)) {
                try await client.get("remote/1.0/Dark").status == 200
            }
        }
    }
}
