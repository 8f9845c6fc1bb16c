import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Files that are read through an object.
@Suite struct ObjectFileTests {
    private static let path = "/storage/Messages/m1/files/"

    private static func file(_ path: String) -> String { #"{"__type":"File","name":"f","url":"\#(path)"}"# }

    private static func binding(_ collection: String, _ id: String, _ key: String) -> String {
        #"{"className":"\#(collection)","objectId":"\#(id)","key":"\#(key)"}"#
    }

    /// A message that the participants of a chat and moderators read, with files of Ann. All but `p/own` are bound to
    /// the field that names them. `p/photo` has an empty list of readers; Ann is the only reader of the others.
    private static func app(_ app: StorageApp) async throws -> StorageApp {
        #expect(try await app.master.put("/roles/mods", #"{"add":["mod"]}"#).status == 204)
        _ = try await app.master.post("/storage/Chats", #"{"_id":"c1","participants":["ann","bob"]}"#)
        let made = try await app.master.post(
            "/storage/Messages",
            #"""
            {"_id":"m1","chat":{"__type":"Pointer","className":"Chats","objectId":"c1"},
            "photo":\#(file("p/photo")),"list":[[\#(file("p/a"))],{"deep":{"__type":"File","name":"p/b"}}],
            "secret":\#(file("p/secret")),"own":\#(file("p/own"))}
            """#)
        #expect(made.status == 201, "\(made)")
        let entry = #"["role:mods",{"where":{"chat.participants":"$user.id"},"through":{"chat":"Chats"}}]"#
        try await app.set(
            #"""
            {"rules":{"find":\#(entry),"get":\#(entry),"update":["authenticated"]},"hidden":{"secret":["role:mods"]}}
            """#,
            on: "Messages")
        let keys = ["photo": "photo", "a": "list", "b": "list", "secret": "secret"]
        for name in ["photo", "a", "b", "secret", "own"] {
            let stored = try await app.user("ann").put("/upload/p/\(name)?readers=ann&writers=ann", name)
            #expect(stored.status == 201, "\(stored)")
            guard let key = keys[name] else { continue }
            let readers = name == "photo" ? #","_readers":[]"# : ""
            let bound = try await app.user("ann").patch(
                "/upload/p/\(name)", #"{"_object":\#(binding("Messages", "m1", key))\#(readers)}"#)
            #expect(
                bound.status == 200 && bound["_object.key"] == #""\#(key)""#
                    && bound["_readers"] == (name == "photo" ? "[]" : #"["ann"]"#), "\(bound)")
        }
        return app
    }

    /// The status of each path for each caller. The first is the object's own.
    @Test func `only callers who may read a field can read the file that is bound to it`() async throws {
        let app = try await Self.app(StorageApp())
        let paths = [
            "/storage/Messages/m1", Self.path + "photo", Self.path + "list", Self.path + "list?path=p/b",
            Self.path + "list?path=p/photo", Self.path + "secret", Self.path + "own", Self.path + "missing",
            Self.path + "photo.url", "/storage/Messages/m2/files/photo", "/upload/p/photo", "/upload/p/b",
        ]
        let server = [200, 200, 200, 200, 404, 200, 200, 404, 404, 404, 200, 200]
        let callers: [(String, ServiceClient, [Int])] = [
            ("the owner", app.user("ann"), [200, 200, 200, 200, 404, 404, 200, 404, 404, 404, 404, 200]),
            ("a participant", app.user("bob"), [200, 200, 200, 200, 404, 404, 404, 404, 404, 404, 404, 404]),
            ("a moderator", app.user("mod"), [200, 200, 200, 200, 404, 200, 404, 404, 404, 404, 404, 404]),
            ("another user", app.user("eve"), Array(repeating: 404, count: 12)),
            ("nobody", app.client, [403, 403, 403, 403, 403, 403, 403, 403, 404, 403, 404, 404]),
            ("the server", app.master, server), ("staff", app.staff(may: [.storage: [.read]]), server),
        ]
        for (name, client, expected) in callers {
            var statuses: [Int] = []
            for path in paths {
                let answer = try await client.get(path)
                statuses.append(answer.status)
                guard answer.status == 404, path != paths[0] else { continue }
                #expect(answer.isProblem(.fileNotFound), "\(name), \(path): \(answer)")
            }
            #expect(statuses == expected, "\(name)")
        }
        #expect(try await app.user("bob").get(Self.path + "photo").text == "photo")
        #expect(try await app.user("bob").get(Self.path + "list").text == "a")
        #expect(try await app.user("bob").get(Self.path + "list?path=p/b").text == "b")
        let limited = app.staff(may: [.users: [.read]])
        #expect(try await limited.get(Self.path + "photo").isProblem(.forbidden))
    }

    @Test func `whoever may find an object may read its files`() async throws {
        let app = try await Self.app(StorageApp())
        try await app.set(#"{"rules":{"find":["bob"],"get":[]}}"#, on: "Messages")
        #expect(try await app.user("bob").get(Self.path + "photo").text == "photo")
        #expect(try await app.user("ann").get(Self.path + "photo").isProblem(.forbidden))
        try await app.set(#"{"rules":{"find":[],"get":["bob"]}}"#, on: "Messages")
        #expect(try await app.user("bob").get(Self.path + "photo").text == "photo")
    }

    @Test func `in a closed space, clients share a file with the readers of an object, without a server`()
        async throws
    {
        let app = try await StorageApp.withDefaultAccess()
        try await app.set(
            #"{"rules":{"create":["authenticated"],"get":[{"where":{"for":"$user.id"}}],"addField":["authenticated"]}}"#,
            on: "Letters")
        let (ann, bob, eve) = (app.user("ann"), app.user("bob"), app.user("eve"))
        #expect(try await ann.put("/upload/letters/1.txt", "dear Bob")["_readers"] == #"["ann"]"#)
        let letter = #"{"_id":"l1","for":["ann","bob"],"text":\#(Self.file("letters/1.txt"))}"#
        #expect(try await ann.post("/storage/Letters", letter).status == 201)
        let path = "/storage/Letters/l1/files/text"
        #expect(try await bob.get(path).isProblem(.fileNotFound), "not bound yet")
        let body = #"{"_object":\#(Self.binding("Letters", "l1", "text"))}"#
        #expect(try await ann.patch("/upload/letters/1.txt", body).status == 200)
        #expect(try await bob.get(path).text == "dear Bob")
        #expect(try await eve.get(path).isProblem(.fileNotFound))
        #expect(try await bob.get("/upload/letters/1.txt").isProblem(.fileNotFound))
        #expect(try await bob.get("/upload/letters/")["count"] == "0")
        #expect(try await bob.get("/upload-history/letters/1.txt")["count"] == "0")
        #expect(try await bob.post("/upload-link/letters/1.txt", "{}").isProblem(.fileNotFound))
        // A new version is read in the same way.
        #expect(try await ann.put("/upload/letters/1.txt", "dear Ben").status == 200)
        #expect(try await bob.get(path).text == "dear Ben")
    }

    // MARK: Attacks

    @Test func `naming another user's file in an object of one's own does not make it readable`() async throws {
        let app = try await Self.app(StorageApp())
        let (bob, eve) = (app.user("bob"), app.user("eve"))
        for (name, path) in [("photo", "p/photo"), ("own", "p/own"), ("secret", "p/secret")] {
            let body = #"{"_id":"\#(name)","f":\#(Self.file(path)),"g":{"__type":"File","name":"\#(path)"}}"#
            #expect(try await eve.post("/storage/Mine", body).status == 201)
            for key in ["f", "g"] {
                #expect(try await eve.get("/storage/Mine/\(name)/files/\(key)").isProblem(.fileNotFound))
            }
            // Somebody who reads the file through another object cannot bind it either.
            for user in [bob, eve] {
                try await app.expectRefusal(.fileNotFound) {
                    try await user.patch("/upload/\(path)", #"{"_object":\#(Self.binding("Mine", name, "f"))}"#)
                }
            }
        }
        // A reader of the file who is not among its writers cannot bind it either.
        _ = try await app.user("ann").patch("/upload/p/own", #"{"_readers":["ann","bob"]}"#)
        try await app.expectRefusal(.forbidden) {
            try await bob.patch("/upload/p/own", #"{"_object":\#(Self.binding("Mine", "own", "f"))}"#)
        }
    }

    @Test func `whoever may change an object cannot move a file to a field that more people read`() async throws {
        let app = try await Self.app(StorageApp())
        let bob = app.user("bob")
        for value in [Self.file("p/secret"), "[\(Self.file("p/photo")),\(Self.file("p/secret"))]"] {
            #expect(try await bob.patch("/storage/Messages/m1", #"{"photo":\#(value)}"#).status == 200)
            #expect(try await bob.get(Self.path + "photo?path=p/secret").isProblem(.fileNotFound))
        }
        #expect(try await bob.get(Self.path + "photo").text == "photo")
        #expect(try await app.user("mod").get(Self.path + "secret").text == "secret")
    }

    @Test func `an object that takes the id of a deleted one does not take over its files`() async throws {
        let app = try await StorageApp()
        let (ann, eve) = (app.user("ann"), app.user("eve"))
        let (note, path) = (#"{"_id":"n","f":\#(Self.file("p/n"))}"#, "/storage/Notes/n/files/f")
        let body = #"{"_object":\#(Self.binding("Notes", "n", "f"))}"#
        func bind() async throws { #expect(try await ann.patch("/upload/p/n", body).status == 200) }
        #expect(try await ann.put("/upload/p/n?readers=ann&writers=ann", "n").status == 201)
        #expect(try await ann.post("/storage/Notes", note).status == 201)
        try await bind()
        #expect(try await eve.get(path).text == "n")
        #expect(try await ann.delete("/storage/Notes/n").status == 204)
        #expect(try await eve.get(path).isProblem(.fileNotFound))
        #expect(try await eve.post("/storage/Notes", note).status == 201)
        #expect(try await eve.get(path).isProblem(.fileNotFound))
        try await bind()
        #expect(try await eve.get(path).text == "n")
        // The same for a collection that takes the name of a dropped one.
        #expect(try await app.master.delete("/collections/Notes").status == 204)
        #expect(try await eve.get(path).isProblem(.fileNotFound))
        #expect(try await eve.post("/storage/Notes", note).status == 201)
        #expect(try await eve.get(path).isProblem(.fileNotFound))
        // The same for a file at the path of a deleted one.
        try await bind()
        #expect(try await ann.delete("/upload/p/n").status == 204)
        #expect(try await eve.put("/upload/p/n?readers=eve", "of eve").status == 201)
        #expect(try await app.user("bob").get(path).isProblem(.fileNotFound))
    }

    @Test func `binding a file reveals nothing of objects that the caller may not read`() async throws {
        let app = try await Self.app(StorageApp())
        let eve = app.user("eve")
        #expect(try await eve.put("/upload/e?readers=eve&writers=eve", "e").status == 201)
        var answers: Set<String> = []
        for (collection, id) in [("Messages", "m1"), ("Messages", "none"), ("Nothing", "m1")] {
            try await app.expectRefusal(.objectNotFound, field: "_object") {
                let answer = try await eve.patch(
                    "/upload/e", #"{"_object":\#(Self.binding(collection, id, "photo"))}"#)
                answers.insert(answer.text)
                return answer
            }
        }
        #expect(answers.count == 1, "\(answers)")
    }

    // MARK: States

    @Test func `a file is readable as long as the object and its field are`() async throws {
        let app = try await Self.app(StorageApp())
        let (ann, bob, master) = (app.user("ann"), app.user("bob"), app.master)
        func bobReads(_ collection: String = "Messages") async throws -> Bool {
            let answer = try await bob.get("/storage/\(collection)/m1/files/photo")
            #expect(answer.status == 200 || answer.isProblem(.fileNotFound), "\(answer)")
            return answer.status == 200
        }
        func change(_ path: String, _ body: String) async throws {
            #expect(try await master.patch(path, body).status == 200)
        }
        #expect(try await bobReads())
        try await change("/storage/Chats/c1", #"{"participants":["ann"]}"#)
        #expect(try await !bobReads(), "no participant")
        try await change("/storage/Chats/c1", #"{"participants":["ann","bob"]}"#)
        try await change("/storage/Messages/m1", #"{"_readers":["ann"]}"#)
        #expect(try await !bobReads(), "not among the object's readers")
        try await change("/storage/Messages/m1", #"{"_readers":null,"photo":null}"#)
        #expect(try await !bobReads(), "not named")
        try await change("/storage/Messages/m1", #"{"photo":\#(Self.file("p/photo"))}"#)
        #expect(try await bobReads())
        #expect(try await master.post("/storage/remove/Messages/m1").status == 200)
        #expect(try await !bobReads(), "removed")
        #expect(try await bob.get(Self.path + "photo?deleted=true").isProblem(.invalidParameter, field: "deleted"))
        try await app.superuser.execute(
            "UPDATE \(try app.space().table(CollectionName("Messages"))) SET deleted = NULL")
        #expect(try await bobReads(), "restored")
        #expect(try await master.post("/collections/Messages/rename", #"{"name":"Posts"}"#).status == 200)
        #expect(try await !bobReads())
        #expect(try await bobReads("Posts"), "the binding follows the collection")
        #expect(try await ann.get("/storage/Posts/m1/files/list?path=p/b").text == "b")
        #expect(try await ann.patch("/upload/p/b", #"{"_object":null}"#)["_object"] == nil)
        #expect(try await bob.get("/storage/Posts/m1/files/list?path=p/b").isProblem(.fileNotFound))
        #expect(try await master.delete("/upload/p/photo").status == 204)
        #expect(try await !bobReads("Posts"), "deleted")
    }

    @Test func `binding makes the caller the only reader of a file that everyone may read, unless readers are given`()
        async throws
    {
        let app = try await StorageApp()
        let (ann, bob) = (app.user("ann"), app.user("bob"))
        #expect(try await ann.post("/storage/Notes", #"{"_id":"n","f":\#(Self.file("n"))}"#).status == 201)
        let object = #""_object":\#(Self.binding("Notes", "n", "f"))"#
        #expect(try await ann.put("/upload/n", "n")["_readers"] == nil)
        #expect(try await bob.get("/storage/Notes/n/files/f").text == "n", "a file without readers is open to everyone")
        let bound = try await ann.patch("/upload/n", "{\(object)}")
        #expect(bound["_readers"] == #"["ann"]"# && bound["_writers"] == nil, "\(bound)")
        try await app.expectRefusal(.fileNotFound) { try await bob.get("/upload/n") }
        #expect(try await bob.get("/storage/Notes/n/files/f").text == "n")
        let open = try await ann.patch("/upload/n", #"{\#(object),"_readers":["*"]}"#)
        #expect(open["_readers"] == #"["*"]"# && open["_object.objectId"] == #""n""#, "\(open)")
        // Only a file's owner and the server see which object it is bound to.
        #expect(try await bob.get("/upload/n?info=true")["_object"] == nil)
        #expect(try await app.master.get("/upload/n?info=true")["_object.className"] == #""Notes""#)
        #expect(try await app.client.put("/upload/m", "m").status == 201)
        #expect(try await app.client.patch("/upload/m", "{\(object)}")["_readers"] == "[]")
    }

    @Test func `a scanner's verdict applies to the readers of the object, and others learn nothing about it`()
        async throws
    {
        let app = try await Self.app(StorageApp())
        try await app.hook("scan", "scanFile", at: HookReceiver())
        let (ann, bob, eve) = (app.user("ann"), app.user("bob"), app.user("eve"))
        let path = Self.path + "list"
        func answers() async throws -> [Int] {
            var statuses: [Int] = []
            for client in [ann, bob, eve, app.master] { statuses.append(try await client.get(path).status) }
            return statuses
        }
        #expect(try await ann.put("/upload/p/a", "a2")["state"] == #""scanning""#)
        #expect(try await answers() == [423, 423, 404, 200])
        #expect(try await app.master.put("/upload-verdict/p/a", #"{"allow":true}"#).status == 200)
        #expect(try await answers() == [200, 200, 404, 200])
        #expect(try await app.master.put("/upload-verdict/p/a", #"{"allow":false}"#).status == 200)
        #expect(try await answers() == [410, 410, 404, 410])
        #expect(try await bob.get(path).isProblem(.fileRefused))
    }

    @Test func `a file of an object is served like any file`() async throws {
        let app = try await Self.app(StorageApp())
        let bob = app.user("bob")
        func get(_ headers: [String: String], _ query: String = "") async throws -> Answer {
            try await bob.send("GET", Self.path + "photo" + query, bytes: nil, headers: headers)
        }
        let whole = try await get([:])
        let tag = try #require(whole.header("etag"))
        #expect(whole.header("cache-control") == "private, no-cache" && whole.header("accept-ranges") == "bytes")
        #expect(whole.header("content-disposition")?.contains("photo") == true, "\(whole)")
        let part = try await get(["range": "bytes=1-2"])
        #expect(part.status == 206 && part.text == "ho" && part.header("content-range") == "bytes 1-2/5")
        #expect(try await get(["range": "bytes=9-"]).isProblem(.rangeNotSatisfiable))
        #expect(try await get(["if-none-match": tag]).status == 304)
        #expect(try await get(["if-match": "\"other\""]).isProblem(.preconditionFailed))
        #expect(try await get([:], "?thumbnail=small").isProblem(.imageRefused))
        let head = try await bob.send("HEAD", Self.path + "photo")
        #expect(head.status == 200 && head.text.isEmpty && head.header("content-length") == "5")
        // Callers who may not read the file do not learn whether they know its contents.
        let guess = try await app.user("eve").send(
            "GET", Self.path + "photo", bytes: nil, headers: ["if-none-match": tag])
        #expect(guess.isProblem(.fileNotFound), "\(guess)")
    }

    static let refusedBodies: [(String, ErrorCode, String)] = [
        (#""x""#, .invalidBody, "_object"), ("{}", .invalidBody, "_object.className"),
        (#"{"className":"Notes","objectId":"n"}"#, .invalidBody, "_object.key"),
        (#"{"className":"Notes","objectId":"n","key":1}"#, .invalidBody, "_object.key"),
        (#"{"className":"Notes","objectId":"n","key":"a.b"}"#, .invalidBody, "_object.key"),
        (#"{"className":"Notes","objectId":"n","key":""}"#, .invalidBody, "_object.key"),
        (#"{"className":"Notes","objectId":"n","key":"f","x":1}"#, .invalidBody, "_object.x"),
        (#"{"className":"_files","objectId":"n","key":"f"}"#, .invalidName, "_object.collection"),
        (#"{"className":"Notes","objectId":"a b","key":"f"}"#, .invalidID, "_object._id"),
    ]

    @Test(arguments: refusedBodies) func `an invalid binding of a file is refused`(
        _ body: String, _ code: ErrorCode, _ field: String
    )
        async throws
    {
        let app = try await StorageApp()
        _ = try await app.user("ann").post("/storage/Notes", #"{"_id":"n"}"#)
        _ = try await app.user("ann").put("/upload/n", "n")
        try await app.expectRefusal(code, field: field) {
            try await app.user("ann").patch("/upload/n", #"{"_object":\#(body)}"#)
        }
    }

    // MARK: Copies, exports and erasure

    @Test func `a copy of the environment keeps what files are bound to`() async throws {
        let app = try await Self.app(StorageApp())
        #expect(try await app.finished(app.master.post("/environment/copy"))["state"] == #""done""#)
        #expect(try await app.master.put("/environment", #"{"open":true}"#).status == 200)
        var (bob, eve) = (app.principal(.client, .test), app.principal(.client, .test))
        (bob.userID, eve.userID) = ("bob", "eve")
        #expect(try await app.acting(as: bob).get(Self.path + "photo").text == "photo")
        #expect(try await app.acting(as: eve).get(Self.path + "photo").isProblem(.fileNotFound))
    }

    @Test func `a user's export says what their files are bound to, and the files are erased with the user`()
        async throws
    {
        let app = try await Self.app(StorageApp())
        func call(_ what: String, after place: String? = nil) async throws -> Answer {
            let request = UserDataRequest(app: app.id, environment: .live, user: "ann", after: place)
            return try await app.acting(as: .service("auth")).post(
                "/internal/users/\(what)", String(decoding: try JSONEncoder().encode(request), as: UTF8.self))
        }
        var (lines, place) = ("", String?.none)
        repeat {
            let answer = try await call("export", after: place)
            lines += answer.text
            place = answer.header(HeaderName.next)
        } while place != nil
        #expect(lines.filter { $0 != " " }.contains(#""objectId":"m1","key":"secret""#), "\(lines)")
        repeat {
            let answer = try await call("erase", after: place)
            place = try JSONDecoder().decode(UserErasure.self, from: Data(answer.text.utf8)).next
        } while place != nil
        for key in ["photo", "list", "own"] {
            #expect(try await app.user("bob").get(Self.path + key).isProblem(.fileNotFound))
        }
        #expect(try await app.master.get("/upload/p/")["count"] == "0")
    }
}
