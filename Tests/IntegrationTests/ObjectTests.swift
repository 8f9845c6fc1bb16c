import Foundation
import MartletAPI
import MartletTesting
import Testing

extension IntegrationTests {
    @Suite(.localServer)
    struct ObjectTests {
        let server: LocalServer
        let client: Client
        let master: Client

        init() throws {
            server = try .current
            client = Client(server.connection)
            master = .master(server.connection)
        }

        @Test func `an object is created, read, replaced, changed, removed, restored and deleted`() async throws {
            let created = try await client.post("storage/Tour", #"{"_id":"a","name":"Tim","age":1.50}"#)
            #expect(created.status == 201 && created["age"] == "1.50" && created["_version"] == "1", "\(created)")
            #expect(created.string("created") == created.string("updated") && created["deleted"] == "null")
            let read = try await client.get("storage/Tour/a")
            #expect(read.status == 200 && read.text == created.text)
            #expect(try await client.get("storage/Tour/a?keys=name")["age"] == nil)

            let again = try await client.post("storage/Tour", #"{"_id":"a","name":"Tom"}"#)
            #expect(again.status == 200 && again["_version"] == "2" && again["age"] == nil, "\(again)")
            let replaced = try await client.send("PUT", "storage/Tour/a", #"{"name":"Tam","n":1}"#)
            #expect(
                replaced.status == 200 && replaced["_version"] == "3" && replaced.string("name") == "Tam", "\(replaced)"
            )
            let changed = try await client.send("PATCH", "storage/Tour/a", #"{"n":2}"#)
            #expect(changed.status == 200 && changed["n"] == "2" && changed.string("name") == "Tam", "\(changed)")

            let removed = try await client.send("POST", "storage/remove/Tour/a")
            #expect(removed.status == 200 && removed.string("deleted") != nil, "\(removed)")
            #expect(try await client.get("storage/Tour/a").isProblem(.objectNotFound))
            #expect(try await client.get("storage/Tour/a?deleted=true").status == 200)
            #expect(try await client.post("storage/Tour", #"{"_id":"a","n":3}"#).status == 200)
            #expect(try await client.get("storage/Tour/a")["n"] == "3")

            let deleted = try await client.send("DELETE", "storage/Tour/a")
            #expect(deleted.status == 204 && deleted.text.isEmpty)
            #expect(try await client.get("storage/Tour/a?deleted=true").isProblem(.objectNotFound))
        }

        /// A percent-encoded path is answered on the usual way.
        @Test func `objects are read and listed alike on the event loop and on the usual way`() async throws {
            let texts = ["small": 2, "large": 800, "huge": 20_000].mapValues { String(repeating: "word ", count: $0) }
            for (id, text) in texts {
                let object = #"{"_id":"\#(id)","text":"\#(text)","secret":1}"#
                #expect(try await client.post("storage/Alike", object).status == 201)
            }
            #expect(try await master.post("storage/Alike", #"{"_id":"own","_readers":[]}"#).status == 201)
            let rules = #"{"rules":{"get":["*"]},"hidden":{"secret":[]}}"#
            let set = try await master.send("PUT", "collections/Alike/rules", rules)
            #expect(set.status == 200, "\(set)")
            let tag = try #require(try await client.get("storage/Alike/small").header("etag"))
            let conditions = [
                [:], ["If-None-Match": tag], ["If-None-Match": "W/" + tag], ["If-None-Match": "*"],
                ["If-None-Match": "broken"], ["If-Match": tag], ["If-Match": "\"9-9\""], ["Accept-Encoding": "gzip"],
                ["Accept-Encoding": "br", "If-None-Match": "W/" + tag],
            ]
            let names = ["content-type", "content-length", "content-encoding", "etag", "vary", "cache-control"]
            for caller in [client, master] {
                for id in ["small", "large", "huge", "own", "none"] {
                    for condition in conditions {
                        let asking = condition.reduce(caller) { $0.adding($1.key, $1.value) }
                        let encoded = "%" + String(id.utf8.first ?? 0, radix: 16) + id.dropFirst()
                        let direct = try await asking.get("storage/Alike/\(id)")
                        let usual = try await asking.get("storage/Alike/\(encoded)")
                        #expect(direct.status == usual.status, "\(id) \(condition)")
                        guard !usual.isProblem else { continue }
                        for name in names {
                            #expect(direct.header(name) == usual.header(name), "\(id) \(condition) \(name)")
                        }
                        #expect(direct.header("date") != nil && direct.text == usual.text, "\(id) \(condition)")
                    }
                }
            }
            let filters = [#"{"text":"word+word+"}"#, #"{"_id":"small"}"#, "{"].map { "?where=" + Self.encoded($0) }
            let lists =
                filters + [
                    "", "?limit=1", "?limit=2&skip=1", "?order=-text&keys=text", "?limit=1&cursor=", "?limit=-1",
                    "?x=1",
                    "?deleted=true&count=true", "?order=secret", "?include=text", "/1/1", "/0/2?limit=1", "/0/1001",
                ]
            for caller in [client, master] {
                for list in lists {
                    let direct = try await caller.get("storage/Alike" + list)
                    let usual = try await caller.get("storage/%41like" + list)
                    #expect(direct.status == usual.status, "\(list)")
                    #expect(usual.isProblem || direct.text == usual.text, "\(list)")
                }
                for filter in ["{}", #"{"text":"word word "}"#, #"{"secret":1}"#, "[]", "{", ""] {
                    let direct = try await caller.post("storage/query/Alike?limit=2", filter)
                    let usual = try await caller.post("storage/query/%41like?limit=2", filter)
                    #expect(direct.status == usual.status, "\(filter)")
                    #expect(usual.isProblem || direct.text == usual.text, "\(filter)")
                }
            }
            #expect(try await client.get("storage/Alike/small")["secret"] == nil)
            #expect(try await client.get("storage/Alike/own").isProblem(.objectNotFound))
        }

        private static func encoded(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: CharacterSet.alphanumerics.union(["+"])) ?? ""
        }

        @Test func `objects are posted in bulk, paged, filtered, ordered and counted`() async throws {
            let objects = (0..<10).map { #"{"_id":"p\#($0)","n":\#($0),"even":\#($0 % 2 == 0)}"# }.joined(
                separator: ",")
            let posted = try await client.post("storage/all/Pages", "[\(objects)]")
            #expect(
                posted.status == 201 && posted["count"] == "10" && posted.ids == (0..<10).map { "p\($0)" }, "\(posted)")
            let cases: [(method: String, path: String, body: String?, ids: [String])] = [
                ("GET", "storage/Pages?limit=2", nil, ["p0", "p1"]),
                ("GET", "storage/Pages/3/2", nil, ["p3", "p4"]),
                ("GET", "storage/Pages?order=-n&skip=1&limit=2", nil, ["p8", "p7"]),
                ("POST", "storage/query/Pages?order=-n", #"{"even":true}"#, ["p8", "p6", "p4", "p2", "p0"]),
                ("POST", "storage/query/Pages/1/2", #"{"even":true}"#, ["p2", "p4"]),
                ("POST", "storage/query/Pages", #"{"n":{"$gte":7,"$lt":9}}"#, ["p7", "p8"]),
                ("POST", "storage/query/Pages", #"{"n":99}"#, []),
                ("GET", "storage/NeverWritten", nil, []),
            ]
            for entry in cases {
                let reply = try await client.send(entry.method, entry.path, entry.body)
                #expect(reply.status == 200 && reply.ids == entry.ids, "\(entry.path) \(reply)")
                #expect(reply["count"] == "\(entry.ids.count)" && reply["config"] != nil && reply["translation"] != nil)
            }
            let counted = try await client.post("storage/query/Pages?count=true&limit=1", #"{"even":true}"#)
            #expect(counted["count"] == "5" && counted.ids.count == 1)
        }

        @Test func `the master key lists, renames and drops collections, and creates, lists and drops indexes`()
            async throws
        {
            #expect(try await client.post("storage/Old", #"{"_id":"a","n":1}"#).status == 201)
            #expect(try await master.get("collections").text.contains(#""name":"Old""#))
            let index = try await master.post(
                "collections/Old/indexes", #"{"fields":["n"],"name":"byN","unique":true}"#)
            #expect(index.status == 201, "\(index)")
            #expect(try await client.post("storage/Old", #"{"n":1}"#).isProblem(.conflict))
            let indexes = try await master.get("collections/Old/indexes")
            #expect(indexes.status == 200 && indexes.string("data.0.name") == "byN", "\(indexes)")
            #expect(try await master.send("DELETE", "collections/Old/indexes/byN").status == 204)

            let renamed = try await master.post("collections/Old/rename", #"{"name":"New"}"#)
            #expect(renamed.status == 200 && renamed.string("name") == "New", "\(renamed)")
            #expect(try await client.get("storage/Old")["count"] == "0")
            #expect(try await client.get("storage/New").ids == ["a"])
            #expect(try await master.send("DELETE", "collections/New").status == 204)
            #expect(try await client.get("storage/New")["count"] == "0")
        }

        struct Refused: Sendable, CustomTestStringConvertible {
            var method: String
            var path: String
            var body: String?
            var code: ErrorCode
            var usesMasterKey = false

            var testDescription: String { "\(method) \(path) \(body ?? ""): \(code.rawValue)" }
        }

        static let refused = [
            Refused(method: "POST", path: "storage/Bad", body: "{", code: .invalidJSON),
            Refused(method: "POST", path: "storage/Bad", body: "[]", code: .invalidBody),
            Refused(method: "POST", path: "storage/Bad", body: #"{"_id":"/"}"#, code: .invalidID),
            Refused(method: "POST", path: "storage/Bad", body: #"{"$x":1}"#, code: .invalidName),
            Refused(method: "POST", path: "storage/_bad", body: "{}", code: .invalidName),
            Refused(method: "POST", path: "storage/all/Bad", body: #"[{"_id":"a"},{"_id":"a"}]"#, code: .invalidBody),
            Refused(method: "POST", path: "storage/query/Bad", body: #"{"a":{"$regexx":1}}"#, code: .unknownOperator),
            Refused(method: "POST", path: "storage/query/Bad", body: #"{"a":{"$in":1}}"#, code: .invalidFilter),
            Refused(method: "GET", path: "storage/Bad?limit=1001", code: .invalidParameter),
            Refused(method: "GET", path: "storage/Bad?nonsense=1", code: .invalidParameter),
            Refused(method: "GET", path: "storage/Bad/a", code: .objectNotFound),
            Refused(method: "PUT", path: "storage/Bad/a", body: "{}", code: .objectNotFound),
            Refused(method: "PATCH", path: "storage/Bad/a", body: "{}", code: .objectNotFound),
            Refused(method: "DELETE", path: "storage/Bad/a", code: .objectNotFound),
            Refused(method: "POST", path: "storage/remove/Bad/a", code: .objectNotFound),
            Refused(method: "POST", path: "storage/a/b/c/d", body: "{}", code: .notFound),
            Refused(method: "OPTIONS", path: "storage/Bad", code: .methodNotAllowed),
            Refused(method: "GET", path: "storage/a%2fb", code: .invalidPath),
            Refused(method: "GET", path: "nowhere", code: .notFound),
            Refused(method: "DELETE", path: "collections/Nowhere", code: .collectionNotFound, usesMasterKey: true),
            Refused(
                method: "POST", path: "collections/Nowhere/rename", body: #"{"name":"There"}"#,
                code: .collectionNotFound,
                usesMasterKey: true),
            Refused(method: "GET", path: "collections/Nowhere/indexes", code: .collectionNotFound, usesMasterKey: true),
            Refused(
                method: "POST", path: "collections/Nowhere/indexes", body: #"{"fields":["n"]}"#,
                code: .collectionNotFound,
                usesMasterKey: true),
            Refused(
                method: "POST", path: "collections/Nowhere/indexes", body: "{}", code: .invalidBody, usesMasterKey: true
            ),
            Refused(
                method: "DELETE", path: "collections/Nowhere/indexes/x", code: .collectionNotFound, usesMasterKey: true),
        ]

        @Test(arguments: refused)
        func `a refusal is a complete problem response, and nothing is written`(_ request: Refused) async throws {
            let reply = try await (request.usesMasterKey ? master : client).send(
                request.method, request.path, request.body)
            #expect(reply.isProblem(request.code), "\(reply)")
            #expect(try await client.get("storage/Bad")["count"] == "0")
        }

        @Test func `a client's request id is found in the response, the problem and both logs`()
            async throws
        {
            let name = "named-by-the-client-1"
            let reply = try await client.adding(HeaderName.requestID, name).get("storage/Nowhere/x")
            #expect(reply.isProblem(.objectNotFound) && reply.string("requestId") == name)
            for process in ["gateway", "storage"] {
                try await eventually("\(process) logs the request") {
                    try server.lines(of: process, containing: name).count == 1
                }
            }
        }

        @Test func `a body beyond the service's limit is 413, and so is one beyond the route's`() async throws {
            let large = String(repeating: "x", count: 1 << 20)
            #expect(try await client.post("storage/Bad", #"{"x":"\#(large)"}"#).isProblem(.payloadTooLarge))
            let headers = [HeaderName.secret: server.connection.secret, "content-length": String((16 << 20) + 1)]
            let line = try RawConnection(port: server.port)
            #expect(try line.status(of: "/api/\(client.appKey)/storage/Bad", headers, method: "POST") == 413)
        }
    }
}
