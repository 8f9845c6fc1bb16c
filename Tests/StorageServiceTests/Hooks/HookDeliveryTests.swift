import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Synchronization
import Testing

@testable import StorageService

@Suite struct HookDeliveryTests {
    /// Runs `body` while `count` instances of the service deliver.
    private func delivering(
        _ app: StorageApp, copies count: Int = 1, _ settings: HookSettings = SharedHooks.settings,
        _ body: () async throws -> Void
    ) async throws {
        let clients = (0..<count).map { _ in app.database.client(for: "storage", maximumConnections: 2) }
        let copies = clients.map {
            StorageService(postgres: $0, files: SharedFiles.settings, logger: .silent, hooks: settings)
        }
        // Of this app only, because other tests' hooks have their own instances.
        let space = try app.space()
        let tasks = copies.map { copy in Task { await copy.hookDelivery.run(in: space) } }
        do {
            try await body()
            for task in tasks { task.cancel() }
            for task in tasks { await task.value }
            for client in clients { await client.close() }
        } catch {
            for task in tasks { task.cancel() }
            throw error
        }
    }

    private func deliveries(_ app: StorageApp, of hook: String, _ query: String = "?limit=100") async throws
        -> [JSONValue]
    {
        guard case .array(let all) = try await app.master.get("/hooks/\(hook)/deliveries\(query)").json?["data"] else {
            return []
        }
        return all
    }

    private func wait(_ condition: () async throws -> Bool) async throws {
        try await eventually { try await condition() }
    }

    @Test("a hook is notified of each change, signed, with the object before and after")
    func changes() async throws {
        let app = try await StorageApp()
        let (saved, deleted) = (try await HookReceiver(), try await HookReceiver())
        _ = try await app.client.post("/storage/Notes", #"{"_id":"early"}"#)
        let secret = try await app.hook("saved", "afterSave", "Notes", at: saved)
        try await app.hook("deleted", "afterDelete", "Notes", at: deleted)
        try await delivering(app) {
            _ = try await app.user("ada").post("/storage/Notes", #"{"_id":"a","n":1.50,"_readers":["ada"]}"#)
            _ = try await app.user("ada").patch("/storage/Notes/a", #"{"n":2}"#)
            _ = try await app.client.post("/storage/all/Notes", #"[{"_id":"b"},{"_id":"c"}]"#)
            _ = try await app.client.post("/storage/Other", #"{"_id":"x"}"#)
            _ = try await app.client.post("/storage/remove/Notes/b")
            _ = try await app.master.delete("/storage/Notes/a")
            try await saved.wait(for: 4)
            try await deleted.wait(for: 2)
            try await wait { try await deliveries(app, of: "saved", "?state=done").count == 4 }
        }
        #expect(saved.received.count == 4 && deleted.received.count == 2)
        let first = try #require(saved.received.first { $0["object._id"] == "\"a\"" && $0["original"] == "null" })
        #expect(first["event"] == "\"afterSave\"" && first["hook"] == "\"saved\"" && first["collection"] == "\"Notes\"")
        #expect(first["object.n"] == "1.50" && first["object._readers"] == #"["ada"]"# && first["at"] != nil)
        let second = try #require(saved.received.first { $0["object.n"] == "2" })
        #expect(second["original.n"] == "1.50" && second["object._version"] == "2")
        let gone = try #require(deleted.received.first { $0["original._id"] == "\"a\"" })
        #expect(gone["object"] == "null" && gone["original.n"] == "2")
        let signature = WebhookSecret(secret)?.signature(
            id: first.headers["webhook-id"] ?? "", timestamp: Int64(first.headers["webhook-timestamp"] ?? "") ?? 0,
            body: Data(first.body.utf8))
        #expect(first.headers["webhook-signature"] == signature)
        #expect(Set(saved.received.map { $0.headers["webhook-id"] }).count == 4)
        let all = try await deliveries(app, of: "saved")
        #expect(all.count == 4 && all.allSatisfy { $0["status"] == .number("200") && $0["attempts"] == .number("1") })
        #expect(
            try await app.master.get("/hooks/saved/deliveries?state=foo").isProblem(.invalidParameter, field: "state"))
        #expect(try await app.master.get("/hooks/none/deliveries").isProblem(.hookNotFound))
    }

    @Test("a failed delivery is retried under the same id until it is accepted")
    func retries() async throws {
        let app = try await StorageApp()
        let attempts = Mutex(0)
        let receiver = try await HookReceiver { _ in
            let number = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return number < 4 ? (500, "") : (204, "")
        }
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        try await delivering(app) {
            _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
            try await wait { try await deliveries(app, of: "saved", "?state=done").count == 1 }
        }
        #expect(receiver.received.count == 4)
        #expect(Set(receiver.received.map { $0.headers["webhook-id"] }).count == 1)
        let delivery = try await deliveries(app, of: "saved")[0]
        #expect(
            delivery["attempts"] == .number("4") && delivery["status"] == .number("204") && delivery["error"] == nil)
    }

    @Test("after the last attempt a delivery is dead, until a retry is requested")
    func dead() async throws {
        let app = try await StorageApp()
        let works = Mutex(false)
        let receiver = try await HookReceiver { _ in works.withLock { $0 } ? (200, "") : (503, "") }
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        try await delivering(app) {
            _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
            try await wait { try await deliveries(app, of: "saved", "?state=dead").count == 1 }
            let dead = try await deliveries(app, of: "saved")[0]
            #expect(dead["attempts"] == .number("5") && dead["status"] == .number("503") && dead["nextAttempt"] == nil)
            #expect(dead["error"] == .string("The server answered with the status 503."))
            works.withLock { $0 = true }
            guard case .string(let id) = dead["id"] else { return }
            #expect(try await app.master.post("/hooks/saved/deliveries/\(id)/retry").status == 202)
            try await wait { try await deliveries(app, of: "saved", "?state=done").count == 1 }
            #expect(try await app.master.post("/hooks/saved/deliveries/\(id)/retry").isProblem(.conflict))
            #expect(receiver.received.count == 6)
            #expect(Set(receiver.received.map { $0.headers["webhook-id"] }) == [id])
        }
        for id in ["x", UUID().uuidString] {
            #expect(try await app.master.post("/hooks/saved/deliveries/\(id)/retry").isProblem(.deliveryNotFound))
        }
    }

    @Test("410 ends it: the delivery is dead and the hook disabled")
    func gone() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (410, "") }
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        _ = try await app.client.post(
            "/storage/all/Notes", "[" + Array(repeating: "{}", count: 40).joined(separator: ",") + "]")
        try await delivering(app) {
            try await wait { try await app.master.get("/hooks/saved")["enabled"] == "false" }
            let queue = try app.space().own("_hook_deliveries")
            let begun: PostgresQuery = "SELECT id FROM \(queue) WHERE state = 'waiting' AND attempts > 0"
            try await eventually("no delivery is under way") { try await app.superuser.query(begun).isEmpty }
            try await wait {
                try await deliveries(app, of: "saved", "?state=dead&limit=100").count == receiver.received.count
            }
        }
        // Only the deliveries that were under way arrive.
        #expect((1...8).contains(receiver.received.count))
        let all = try await deliveries(app, of: "saved")
        #expect(
            all.count { $0["state"] == .string("dead") } == receiver.received.count && all.count == 40, "\(all.count)")
    }

    @Test("a hook that requests a pause gets it")
    func retryAfter() async throws {
        let app = try await StorageApp()
        let times = Mutex<[ContinuousClock.Instant]>([])
        let receiver = try await HookReceiver { _ in
            let count = times.withLock { times in
                times.append(.now)
                return times.count
            }
            return count == 1 ? (429, "2") : (204, "")
        }
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        var settings = SharedHooks.settings
        settings.maximumPause = .seconds(60)
        try await delivering(app, settings) {
            _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
            try await wait { try await deliveries(app, of: "saved", "?state=done").count == 1 }
        }
        let calls = times.withLock { $0 }
        #expect(calls.count == 2 && calls[1] - calls[0] >= .seconds(1.9))
    }

    @Test("a hook follows its collection to a new name")
    func renamed() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        _ = try await app.client.post("/storage/Notes", "{}")
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        #expect(try await app.master.post("/collections/Notes/rename", #"{"name":"Memos"}"#).status == 200)
        #expect(try await app.master.get("/hooks/saved")["collection"] == #""Memos""#)
        try await delivering(app) {
            _ = try await app.client.post("/storage/Memos", #"{"_id":"a"}"#)
            try await receiver.wait(for: 1)
        }
        #expect(receiver.received.compactMap { $0["object._id"] } == [#""a""#])
    }

    @Test("two instances notify of each change once, whatever commits late", .timeLimit(.minutes(5)))
    func copies() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        _ = try await app.client.post("/storage/Notes", #"{"_id":"first"}"#)
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        let scope = QueryScope(space: try app.space(), collection: try CollectionName("Notes"), rights: .master)
        try await delivering(app, copies: 3) {
            try await app.postgres.withTransaction(role: scope.space.role) { transaction in
                let objects = app.objects.within(transaction)
                _ = try await objects.create(try Document(ByteBuffer(string: #"{"_id":"late"}"#)), in: scope)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<4 {
                        group.addTask {
                            for number in 0..<25 {
                                _ = try await app.client.post("/storage/Notes", #"{"_id":"w\#(writer)-\#(number)"}"#)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                try await receiver.wait(for: 100)
            }
            let bulk = (0..<250).map { #"{"_id":"bulk\#($0)"}"# }.joined(separator: ",")
            _ = try await app.client.post("/storage/all/Notes", "[\(bulk)]")
            try await receiver.wait(for: 351)
            try await Task.sleep(for: .milliseconds(300))
        }
        let delivered = receiver.received.compactMap { $0["object._id"] }
        #expect(delivered.count == 351 && Set(delivered).count == 351)
        #expect(delivered.contains("\"late\""))
    }

    @Test("a delivery of a dead instance is made by another when its lease expires")
    func lease() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
        let store = DeliveryStore(postgres: app.postgres, spaces: Spaces(postgres: app.postgres))
        let space = try app.space()
        #expect(try await !store.take(for: "saved", in: space))
        let claim = try #require(try await store.claim(for: "saved", limit: 10, in: space).first)
        #expect(try await store.claim(for: "saved", limit: 10, in: space).isEmpty)
        _ = try await app.superuser.execute("UPDATE \(try space.own("_hook_deliveries")) SET due = now()")
        try await delivering(app) {
            try await wait { try await deliveries(app, of: "saved", "?state=done").count == 1 }
        }
        #expect(receiver.received.map { $0.headers["webhook-id"] } == [claim.webhookID])
        // The first instance, which was presumed dead, cannot change the outcome.
        try await store.settle(claim, status: 500, error: "late", pause: nil, in: space)
        #expect(try await deliveries(app, of: "saved", "?state=done").count == 1)
    }

    @Test("an idle hook writes nothing")
    func idle() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        let store = DeliveryStore(postgres: app.postgres, spaces: Spaces(postgres: app.postgres))
        let space = try app.space()
        _ = try await app.client.post("/storage/Other", "{}")
        _ = try await app.client.post("/storage/Notes", #"{"_id":"a"}"#)
        #expect(try await store.hasWork(for: "saved", in: space))
        #expect(try await !store.take(for: "saved", in: space))
        #expect(try await store.hasWork(for: "saved", in: space), "the delivery is due")
        #expect(try await store.claim(for: "saved", limit: 1, in: space).count == 1)
        _ = try await app.client.post("/storage/Other", "{}")
        #expect(try await !store.hasWork(for: "saved", in: space))
        let row: PostgresQuery = "SELECT xmin::text, log_from::text FROM \(try space.own("_hooks"))"
        let before = try await app.superuser.query(row)[0]
        for _ in 0..<3 { #expect(try await !store.take(for: "saved", in: space)) }
        let after = try await app.superuser.query(row)[0]
        #expect(try before.decode(0, as: String.self) == after.decode(0, as: String.self))
        // Changes that do not concern it also advance it, so that they are not read again.
        _ = try await app.client.delete("/storage/Notes/a")
        #expect(try await store.hasWork(for: "saved", in: space))
        #expect(try await !store.take(for: "saved", in: space))
        #expect(try await !store.hasWork(for: "saved", in: space))
    }

    @Test("the queue is limited: further changes wait in the log, and finished deliveries are deleted in time")
    func bounds() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        for page in 0..<2 {
            let objects = (0..<700).map { #"{"_id":"p\#(page)-\#($0)"}"# }.joined(separator: ",")
            _ = try await app.client.post("/storage/all/Notes", "[\(objects)]")
        }
        let store = DeliveryStore(postgres: app.postgres, spaces: Spaces(postgres: app.postgres))
        let space = try app.space()
        let queue = try space.own("_hook_deliveries")
        while try await store.take(for: "saved", in: space) {}
        #expect(try await app.superuser.query("SELECT count(*) FROM \(queue)")[0].decode(0, as: Int.self) == 1_000)
        _ = try await app.superuser.execute("UPDATE \(queue) SET state = 'done', body = NULL, finished = now()")
        while try await store.take(for: "saved", in: space) {}
        #expect(
            try await app.superuser.query("SELECT count(*) FROM \(queue) WHERE state = 'waiting'")[0].decode(
                0, as: Int.self) == 400)
        _ = try await app.superuser.execute(
            "UPDATE \(queue) SET state = 'done', body = NULL, finished = now() WHERE state = 'waiting'")
        try await store.prune("saved", in: space)
        #expect(try await app.superuser.query("SELECT count(*) FROM \(queue)")[0].decode(0, as: Int.self) == 1_000)
        _ = try await app.superuser.execute("UPDATE \(queue) SET finished = now() - interval '8 days'")
        try await store.prune("saved", in: space)
        #expect(try await app.superuser.query("SELECT count(*) FROM \(queue)")[0].decode(0, as: Int.self) == 0)
    }

    @Test("a disabled hook is not notified of changes made meanwhile, and one of another log starts at its end")
    func pauses() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        let body = { (isEnabled: Bool) in
            #"{"event":"afterSave","collection":"Notes","url":"\#(receiver.url)","enabled":\#(isEnabled)}"#
        }
        #expect(try await app.master.put("/hooks/saved", body(false)).status == 200)
        _ = try await app.client.post("/storage/Notes", #"{"_id":"missed"}"#)
        #expect(try await app.master.put("/hooks/saved", body(true)).status == 200)
        _ = try await app.client.post("/storage/Notes", #"{"_id":"told"}"#)
        #expect(try await app.master.put("/hooks/saved", body(true)).status == 200, "an enabled hook keeps its cursor")
        try await delivering(app) { try await receiver.wait(for: 1) }
        #expect(receiver.received.map { $0["object._id"] } == ["\"told\""])
        _ = try await app.client.post("/storage/Notes", #"{"_id":"restored"}"#)
        _ = try await app.superuser.execute("UPDATE \(try app.space().own("_hooks")) SET log_epoch = 'other'")
        let store = DeliveryStore(postgres: app.postgres, spaces: Spaces(postgres: app.postgres))
        #expect(try await !store.take(for: "saved", in: try app.space()))
        _ = try await app.client.post("/storage/Notes", #"{"_id":"after"}"#)
        try await delivering(app) { try await receiver.wait(for: 2) }
        #expect(receiver.received.map { $0["object._id"] } == ["\"told\"", "\"after\""])
    }

    @Test("the service finds spaces with hooks by itself", .timeLimit(.minutes(5)))
    func discovery() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        try await app.hook("saved", "afterSave", "Notes", at: receiver)
        let client = app.database.client(for: "storage", maximumConnections: 2)
        let copy = StorageService(
            postgres: client, files: SharedFiles.settings, logger: .silent, hooks: SharedHooks.settings)
        #expect(try await copy.hookDelivery.keys().contains(.init(space: try app.space(), hook: "saved")))
        await client.close()
    }

    @Test("pauses grow to their limit, and no two are the same")
    func pausesGrow() {
        let settings = HookSettings(secret: Secret("an-internal-secret-of-the-tests-0123456789"))
        for (number, seconds) in [
            (1, 5.0), (2, 20), (3, 80), (6, 5_120), (7, 20_480), (8, 21_600), (12, 21_600), (10_000, 21_600),
        ] {
            let pauses = (0..<20).map { _ in settings.pause(after: number) }
            #expect(pauses.allSatisfy { $0 >= .seconds(seconds * 0.79) && $0 <= .seconds(seconds * 1.21) }, "\(number)")
            #expect(Set(pauses).count > 1)
        }
    }
}
