import Foundation
import Testing

@testable import MartletKit

/// These tests run against a real server.
struct StorageTests {
    struct Person: Storable, Equatable {
        static let collection = TestServer.name("KitPeople")
        var name: String
        var friend: Pointer<Person>?
        var likes: Relation<Event>?
    }

    struct Event: Storable, Equatable {
        static let collection = TestServer.name("KitEvents")
        enum Sport: String, Codable, CaseIterable { case tennis, football }
        var title: String
        var age = 0
        var sport: Sport?
        var tags: [String]?
        var place: GeoPoint?
        var date: Date?
        var price: Decimal?
        var host: Pointer<Person>?
    }

    let storage: Storage

    init() async throws { storage = try await TestServer.device().storage }

    @Test func `an object is created, read, changed, saved, removed, restored and deleted`() async throws {
        let date = Date(timeIntervalSince1970: 1_800_000_000.123)
        let event = Event(
            title: "Match é", age: 1, sport: .tennis, tags: ["a"], place: GeoPoint(latitude: 46.5, longitude: 7.5),
            date: date, price: Decimal(string: "12.50"))
        var stored = try await storage.create(event)
        #expect(stored.value == event && stored.version == 1 && stored.removed == nil)
        #expect(try await storage.get(Event.self, id: stored.id) == stored)

        stored.title = "Other"
        stored.tags = nil
        stored = try await storage.save(stored)
        #expect(stored.version == 2 && stored.title == "Other" && stored.fields["tags"] == nil)
        #expect(try await storage.save(stored).version == 2, "nothing to save")

        stored = try await storage.update(
            stored, .increment(\.age, by: 41), .insert(["b", "b"], into: \.tags), .set(\.sport, to: .football))
        #expect(stored.age == 42 && stored.tags == ["b"] && stored.sport == .football)
        stored = try await storage.update(stored, .append(["b", "c"], to: \.tags), .unset(\.place))
        stored = try await storage.update(stored, .remove(["b"], from: \.tags), .set(\.host, to: nil))
        #expect(stored.tags == ["c"] && stored.place == nil && stored.fields["host"] == .null)

        let removed = try await storage.remove(stored)
        #expect(removed.removed != nil)
        #expect(try await storage.get(Event.self, id: stored.id) == nil)
        #expect(try await storage.first(Event.query().where(Field<String>.id == stored.id).includingRemoved()) != nil)
        let restored = try await storage.restore(removed)
        #expect(restored.removed == nil && restored.value == stored.value)
        try await storage.delete(restored)
        try await storage.delete(restored)
        #expect(try await storage.get(Event.self, id: stored.id) == nil)
    }

    @Test func `fields that the type lacks stay, and so do changes by others`() async throws {
        struct Wide: Storable {
            static let collection = Event.collection
            var title: String
            var extra: Int
            var age: Int
        }
        let wide = try await storage.create(Wide(title: "a", extra: 1, age: 1))
        var narrow = try #require(try await storage.get(Event.self, id: wide.id))
        try await storage.update(wide, .set(\.age, to: 2))
        narrow.title = "b"
        let saved = try await storage.save(narrow)
        #expect(saved.age == 2 && saved.title == "b" && saved.fields["extra"] == 1)
        let replaced = try await storage.replace(saved)
        #expect(replaced.fields["extra"] == nil)
    }

    @Test func `a state that was changed meanwhile is not overwritten`() async throws {
        var mine = try await storage.create(Event(title: "a"))
        let theirs = mine
        #expect(mine.entityTag == (try await tag(of: mine.id)))
        mine.title = "b"
        mine = try await storage.save(mine, ifUnchanged: true)
        var late = theirs
        late.title = "c"
        for attempt in [
            { [late] in _ = try await storage.save(late, ifUnchanged: true) },
            { [late] in _ = try await storage.replace(late, ifUnchanged: true) },
            { [late] in _ = try await storage.update(late, .increment(\.age), ifUnchanged: true) },
            { [late] in try await storage.delete(late, ifUnchanged: true) },
        ] {
            await #expect { try await attempt() } throws: { ($0 as? MartletError)?.code == .preconditionFailed }
        }
        #expect(try await storage.get(Event.self, id: mine.id) == mine)
        await #expect { try await storage.create(Event(title: "x"), id: mine.id) } throws: {
            ($0 as? MartletError)?.code == .preconditionFailed
        }
        #expect(try await storage.create(Event(title: "x"), id: mine.id, replaces: true).title == "x")
    }

    private func tag(of id: String) async throws -> String? {
        try await storage.api.send(APIRequest("GET", "storage/\(Event.collection)/\(id)")).headers["ETag"]
    }

    @Test func `queries find, sort, count, page and include`() async throws {
        struct Shop: Storable, Equatable {
            static let collection = TestServer.name("KitShops")
            var city: String
            var n: Int
            var open: Bool
            var place: GeoPoint?
            var owner: Pointer<Person>?
            var tags: [String]
        }
        let tim = try await storage.create(Person(name: "tim", friend: nil))
        let tom = try await storage.create(Person(name: "tom", friend: Pointer(tim)))
        let shops = try await storage.create(
            contentsOf: (0..<30).map { n -> Shop in
                let place = GeoPoint(latitude: 46 + Double(n) / 100, longitude: 7)
                let owner: Pointer<Person>? = n == 4 ? Pointer(tom) : nil
                return Shop(
                    city: n % 2 == 0 ? "Bern" : "Basel", n: n, open: n % 3 == 0, place: place, owner: owner,
                    tags: ["t\(n % 5)"])
            })
        #expect(shops.map(\.n) == Array(0..<30))

        let query = Shop.query().where(\.city == "Bern" && \.n > 9).order(by: \.n, .descending)
        #expect(try await storage.find(query.limit(3)).map(\.n) == [28, 26, 24])
        #expect(try await storage.find(query.skip(8)).map(\.n) == [12, 10])
        #expect(try await storage.count(query.limit(1)) == 10)
        #expect(try await storage.first(Shop.query().where(\.n == 99)) == nil)
        let tagged = Shop.query().where(.contains(\.tags, "t1") && \.open == true)
        #expect(Set(try await storage.find(tagged).map(\.n)) == [6, 21])
        #expect(try await storage.find(Shop.query().where(.in(\.n, [3, 4]) || .hasPrefix(\.city, "X"))).count == 2)
        #expect(try await storage.find(Shop.query().where(!(\.n < 28))).count == 2)

        let center = GeoPoint(latitude: 46.1, longitude: 7)
        let near = try await storage.find(Shop.query().near(\.place, of: center, within: .kilometers(2.5)))
        #expect(near.first?.n == 10 && Set(near.map(\.n)) == [8, 9, 10, 11, 12])
        let box = Condition<Shop>.inBox(
            \.place, southWest: GeoPoint(latitude: 46.095, longitude: 6),
            northEast: GeoPoint(latitude: 46.115, longitude: 8))
        #expect(Set(try await storage.find(Shop.query().where(box)).map(\.n)) == [10, 11])

        var seen: [Int] = []
        var position: Page<Shop>.Position?
        repeat {
            let page = try await storage.page(Shop.query().order(by: \.n).limit(7), after: position)
            seen += page.objects.map(\.n)
            position = page.next
        } while position != nil
        #expect(seen == Array(0..<30))
        seen = []
        for try await shop in storage.all(Shop.query().order(by: \.n).limit(20)) { seen.append(shop.n) }
        #expect(seen == Array(0..<20))

        let withOwner = try #require(
            try await storage.first(Shop.query().where(.exists(\.owner)).include(\.owner, then: \.friend)))
        #expect(withOwner.owner?.object?.name == "tom" && withOwner.owner?.object?.friend?.object?.name == "tim")
        // Restoring an object stores pointers, not the included objects.
        let restored = try await storage.restore(try await storage.remove(withOwner))
        #expect(restored.owner == Pointer(tom) && restored.fields["owner"]?["__type"] == "Pointer")
        let included = try #require(try await storage.first(Shop.query().where(.exists(\.owner)).include(\.owner)))
        #expect(try await storage.restore(included).fields["owner"]?["__type"] == "Pointer")
        let ofTom = Shop.query().where(.matches(\.owner, Person.query().where(\.name == "tom")))
        #expect(try await storage.find(ofTom).map(\.n) == [4])

        #expect(try await Set(storage.distinct(\.city, in: Shop.query())) == ["Bern", "Basel"])
        let rows = try await storage.summary(
            of: Shop.query().order(by: Field<String>("city")), by: [\.city],
            ["count": .count, "sum": .sum(\.n), "top": .maximum(\.n)])
        #expect(rows.map { $0["city"] } == ["Basel", "Bern"] && rows.map { $0["top"] } == [29, 28])
    }

    @Test func `relations are changed and queried`() async throws {
        let first = try await storage.create(Event(title: "one")),
            second = try await storage.create(Event(title: "two"))
        let fan = try await storage.create(Person(name: "fan", friend: nil))
        try await storage.update(fan, .link([Pointer(first), Pointer(second)], to: \.likes))
        let liked = Event.query().where(.isLinked(from: Pointer(fan), by: \.likes))
        #expect(Set(try await storage.find(liked).map(\.title)) == ["one", "two"])
        try await storage.update(fan, .unlink([Pointer(first)], from: \.likes))
        #expect(try await storage.find(liked).map(\.title) == ["two"])
    }

    @Test func `a transaction is all or nothing, and each write in a batch stands alone`() async throws {
        let old = try await storage.create(Event(title: "old"))
        let outcomes = try await storage.transaction { batch in
            try batch.create(Event(title: "new"), id: "kit-new")
            try batch.update(old, .increment(\.age), ifUnchanged: true)
        }
        #expect(outcomes.map(\.status) == [201, 200])
        #expect(try outcomes[1].object(as: Event.self).age == 1)
        await #expect {
            try await storage.transaction { batch in
                try batch.update(Event.self, id: "kit-new", .set(\.title, to: "changed"))
                try batch.update(old, .increment(\.age), ifUnchanged: true)
            }
        } throws: {
            ($0 as? MartletError)?.code == .preconditionFailed
                && ($0 as? MartletError)?.field?.hasPrefix("requests.1") == true
        }
        #expect(try await storage.get(Event.self, id: "kit-new")?.title == "new")
        let mixed = try await storage.batch { batch in
            batch.delete(old)
            try batch.update(old, .increment(\.age))
            try batch.create(Event(title: "x"))
        }
        #expect(mixed.map(\.status) == [204, 404, 201] && mixed[1].error?.code == .objectNotFound)
    }

    @Test func `the error for an object that does not fit its type names the object and the field`() async throws {
        let id = TestServer.name("bad")
        let json: JSON = ["_id": .string(id), "title": ["a": 1]]
        try await storage.api.send(.write("POST", "storage/" + Event.collection, json: json))
        await #expect { try await storage.get(Event.self, id: id) } throws: {
            ($0 as? MartletError)?.code == .undecodable && "\($0)".contains(id)
                && ($0 as? MartletError)?.field == "title"
        }
        let query = Event.query().where(Field<String>.id == id)
        await #expect(throws: MartletError.self) { try await storage.find(query) }
        let messages = Locked<[String]>([])
        let lenient = try await TestServer.device {
            $0.skipsUndecodableObjects = true
            $0.log = { entry in if entry.level == .warning { messages.withLock { $0.append(entry.message) } } }
        }
        #expect(try await lenient.storage.find(query).isEmpty)
        #expect(messages.withLock { $0 } == ["Left out an object that does not fit its type"])
        try await storage.delete(Event.self, id: id)
    }

    @Test func `a write whose response was lost takes effect once`() async throws {
        let lossy = try await TestServer.device { $0.transport = LossyTransport($0.transport) }
        let stored = try await lossy.storage.create(Event(title: "once"))
        #expect(try await storage.count(Event.query().where(\.title == "once")) == 1)
        #expect(try await lossy.storage.update(stored, .increment(\.age)).age == 1)
    }
}

/// Loses every other answer.
final class LossyTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let count = Locked(0)

    init(_ transport: any HTTPTransport) { self.transport = transport }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        let response = try await transport.send(request, progress: progress)
        let isLost = count.withLock { count in
            count += 1
            return count % 2 == 1
        }
        if isLost { throw MartletError(.connectionLost, "Lost.") }
        return response
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream { try await transport.stream(request) }
}
