import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import Testing

@testable import StorageService

/// A write that takes long because of a hook or a large body requires the right at its end, too.
@Suite struct LateRightsTests {
    private static let requests: [(name: String, send: @Sendable (ServiceClient) async throws -> Answer)] = [
        ("POST", { try await $0.post("/storage/Notes", #"{"n":2}"#) }),
        ("POST with an id", { try await $0.post("/storage/Notes", #"{"_id":"a","n":2}"#) }),
        ("PUT", { try await $0.put("/storage/Notes/a", #"{"n":2}"#) }),
        ("PATCH", { try await $0.patch("/storage/Notes/a", #"{"n":2}"#) }),
        ("PATCH or create", { try await $0.patch("/storage/Notes/b?upsert=true", #"{"n":2}"#) }),
        ("DELETE", { try await $0.delete("/storage/Notes/a") }),
        ("remove", { try await $0.post("/storage/remove/Notes/a") }),
        ("bulk", { try await $0.post("/storage/all/Notes", #"[{"n":2},{"_id":"a","n":2}]"#) }),
        ("batch", { try await $0.post("/storage/batch", batch(isTransaction: false)) }),
        ("transaction", { try await $0.post("/storage/batch", batch(isTransaction: true)) }),
    ]

    private static func batch(isTransaction: Bool) -> String {
        #"""
        {"requests":[{"method":"PATCH","path":"storage/Notes/a","body":{"n":2}},
        {"method":"POST","path":"storage/Notes","body":{"n":2}}],"transaction":\#(isTransaction)}
        """#
    }

    @Test func `rights that end during the call of a hook end before the write`() async throws {
        let app = try await StorageApp()
        #expect(try await app.master.post("/storage/Notes", #"{"_id":"a","n":1}"#).status == 201)
        let receiver = try await HookReceiver { _ in
            try await app.set(#"{"rules":{"create":[],"update":[],"delete":[]}}"#, on: "Notes")
            return (200, "{}")
        }
        for event in ["beforeSave", "beforeDelete"] { try await app.hook(event, event, "Notes", at: receiver) }
        for (name, send) in Self.requests {
            try await app.set("{}", on: "Notes")
            let (before, calls) = (try await app.contents(), receiver.received.count)
            let answer = try await send(app.user("eve"))
            let statuses = name == "batch" ? [answer["data.0.status"], answer["data.1.status"]] : ["\(answer.status)"]
            #expect(statuses.allSatisfy { $0 == "403" }, "\(name): \(answer)")
            #expect(receiver.received.count > calls, "\(name)")
            #expect(try await app.contents() == before, "\(name)")
        }
    }

    @Test func `rights that end while a file arrives end before it is stored`() async throws {
        let app = try await StorageApp()
        let (space, principal) = (try app.space(), app.principal(.client))
        let rights = RightsStore(postgres: app.postgres, spaces: app.objects.spaces)
        let receiver = FileReceiver(
            files: FileStore(postgres: app.postgres, spaces: app.objects.spaces), rights: rights,
            settings: SharedFiles.settings)
        #expect(try await app.client.put("/upload/old.txt", "x").status == 201)
        for path in ["old.txt", "new.txt"] {
            #expect(try await app.master.put("/rules/settings", #"{"access":"open"}"#).status == 200)
            rights.forgetAll()
            let scope = FileScope(space, try await rights.rights(of: principal, in: space), of: principal)
            let content = AsyncStream<ByteBuffer> { stream in
                stream.yield(ByteBuffer(string: "y"))
                stream.finish()
            }.map { portion in
                _ = try await app.master.put("/rules/settings", #"{"access":"closed"}"#)
                rights.forgetAll()
                return portion
            }
            let declaration = FileReceiver.Declaration(
                path: try FilePath(path), contentType: nil, grants: FileGrants(readers: nil, writers: nil))
            let refusal = await #expect(throws: ServiceError.self) {
                _ = try await receiver.receive(content, as: declaration, in: scope)
            }
            #expect(refusal?.code == .forbidden, "\(path)")
        }
        #expect(try await app.master.get("/upload/old.txt").text == "x")
        #expect(try await app.master.get("/upload/new.txt").isProblem(.fileNotFound))
    }

    @Test func `rights are read again only if they may have changed`() async throws {
        let app = try await StorageApp()
        let store = RightsStore(postgres: app.postgres, spaces: app.objects.spaces)
        var rights = try await store.rights(of: app.principal(.client), in: app.space())
        // Far enough in the future for a slow test.
        rights.moment?.time = .now + .seconds(600)
        #expect(store.isCurrent(rights))
        store.forget(try app.space())
        #expect(!store.isCurrent(rights))
        rights = try await store.rights(of: app.principal(.client), in: app.space())
        rights.moment?.time = .now - RightsStore.freshness
        #expect(!store.isCurrent(rights))
        #expect(store.isCurrent(.master))
    }
}
