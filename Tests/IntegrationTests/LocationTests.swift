import Foundation
import MartletAPI
import MartletCore
import Testing

extension IntegrationTests {
    /// `Location` of created things as clients see it: behind the gateway, whose paths differ from those of services.
    @Suite(.localServer)
    struct LocationTests {
        struct Creation: CustomTestStringConvertible, Sendable {
            var method = "POST"
            /// The path after `/api/{appKey}/`.
            var path: String
            var body: String
            /// The beginning of the location, after `/api/{appKey}/`.
            var place: String
            var headers: [String: String] = [:]
            /// Whether a GET of the location answers 200.
            var isRead = true
            var isMaster = true

            var testDescription: String { "\(method) \(path)" }
        }

        static let makings = [
            Creation(
                path: "storage/Located", body: #"{"_id":"ab","id":"other","number":7}"#, place: "storage/Located/ab",
                isMaster: false),
            Creation(path: "storage/Located", body: #"{"name":"x"}"#, place: "storage/Located/", isMaster: false),
            Creation(
                path: "storage/all/Located", body: #"[{"n":1},{"n":2}]"#, place: "storage/Located", isMaster: false),
            Creation(
                path: "collections/Located/indexes", body: #"{"fields":["n"],"name":"by_n"}"#,
                place: "collections/Located/indexes/by_n", isRead: false),
            Creation(path: "upload?name=root.txt", body: "x", place: "upload/root.txt"),
            Creation(path: "upload/?name=slash.txt", body: "x", place: "upload/slash.txt"),
            Creation(path: "upload/d%20e/?name=f%26g.txt", body: "x", place: "upload/d%20e/f%26g.txt"),
            Creation(method: "PUT", path: "upload/x/y.txt", body: "x", place: "upload/x/y.txt"),
            Creation(path: "upload-link/x/y.txt", body: "{}", place: "link/"),
            Creation(
                method: "PUT", path: "hooks/located",
                body: #"{"collection":"Located","event":"afterSave","url":"https://hooks.example.org/x"}"#,
                place: "hooks/located"),
            Creation(
                path: "auth/signup", body: #"{"userName":"located","password":"a long password 17"}"#, place: "auth/me",
                isRead: false),
            Creation(path: "auth/anonymous", body: "{}", place: "auth/me", isRead: false),
            Creation(path: "auth/invitations", body: "{}", place: "auth/invitations/", isRead: false),
            Creation(
                path: "auth/clients",
                body:
                    #"{"name":"Located","type":"public","redirectUris":["https://x.example.org/back"],"scopes":["openid"]}"#,
                place: "auth/clients/"),
            Creation(
                path: "remote", body: #"{"appVersion":"1.0","theme":"Light","configuration":{},"live":false}"#,
                place: "config/configuration/"),
            Creation(
                method: "PUT", path: "config/flags/default", body: #"{"flags":{}}"#, place: "config/flags/default",
                headers: ["If-None-Match": "*"]),
            Creation(path: "tickets", body: #"{"title":"Located"}"#, place: "tickets/"),
            Creation(
                path: "tickets/1/comments", body: #"{"text":"Here"}"#, place: "tickets/1/comments/", isRead: false),
            Creation(path: "tickets/1/attachments?name=a.txt", body: "x", place: "tickets/1/attachments/"),
            Creation(
                path: "tickets/labels", body: #"{"name":"big one"}"#, place: "tickets/labels/big%20one", isRead: false),
            Creation(path: "tickets/sprints", body: #"{"name":"First"}"#, place: "tickets/sprints/"),
            Creation(path: "storage/TBAnalytics", body: #"{"event":"x"}"#, place: "storage/TBAnalytics", isRead: false),
            Creation(
                path: "notifications/messages", body: #"{"content":{"title":"Hello"},"audience":{"everyone":true}}"#,
                place: "notifications/messages/"),
        ]

        @Test func `every created thing is where Location says`() async throws {
            let server = try LocalServer.current
            var missing: [String] = []
            for making in Self.makings {
                let client = making.isMaster ? Client.master(server.connection) : Client(server.connection)
                let caller = making.headers.reduce(client) { $0.adding($1.key, $1.value) }
                let made = try await caller.send(making.method, making.path, making.body)
                guard made.status == 201, let location = made.header("location") else {
                    missing.append("\(making): \(made)")
                    continue
                }
                let base = "\(client.url)/api/\(client.appKey)/"
                let place = try #require(
                    URL(string: location, relativeTo: URL(string: base + making.path))?.absoluteString)
                guard place.hasPrefix(base + making.place) else {
                    missing.append("\(making): \(location) is \(place)")
                    continue
                }
                guard making.isRead else { continue }
                let read = try await Client.send("GET", place, headers: client.headers)
                if read.status != 200 { missing.append("\(making): \(place): \(read)") }
            }
            #expect(missing.isEmpty, "\(missing.joined(separator: "\n"))")
        }

        @Test func `services' responses arrive compressed through the gateway, and their tags are accepted`()
            async throws
        {
            let client = Client(try LocalServer.current.connection)
            let text = String(repeating: "much the same ", count: 200)
            let made = try await client.post("storage/Packed", #"{"_id":"p","text":"\#(text)"}"#)
            #expect(made.status == 201)
            let packed = try await client.adding("Accept-Encoding", "gzip, br").get("storage/Packed/p")
            #expect(
                packed.status == 200 && packed.header("content-encoding") == "br"
                    && packed.header("vary")?.contains("Accept-Encoding") == true)
            let tag = try #require(packed.header("etag"))
            #expect(tag.hasPrefix("W/"))
            let same = try await client.adding("If-None-Match", tag).adding("Accept-Encoding", "br").get(
                "storage/Packed/p")
            #expect(same.status == 304 && same.header("etag") == tag)
            #expect(
                try await client.adding("If-Match", tag).send("PATCH", "storage/Packed/p", #"{"n":1}"#).status == 200)
            #expect(
                try await client.adding("If-Match", tag).send("PATCH", "storage/Packed/p", #"{"n":2}"#).status == 412)
            let user =
                #"{"userName":"unpacked","password":"a long password 17","profile":{"text":"\#(text.prefix(1_500))"}}"#
            let signed = try await client.adding("Accept-Encoding", "br, gzip").post("auth/signup", user)
            #expect(signed.status == 201 && signed.header("content-encoding") == nil)
        }
    }
}
