import Hummingbird
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

/// Advice about lists that a rule restricts.
@Suite struct RuleAdviceTests {
    @Test(
        arguments: [
            (#"{"where":{"author":"$user.id"}}"#, nil, "author equality", nil),
            (#"{"where":{"author":"$user.id"}}"#, "-created", "author equality", nil),
            (#"{"where":{"author":"$user.id"}}"#, "-stars", "author equality", "ordered -stars"),
            (#""field:author""#, nil, "author equality", nil),
            (
                #"{"who":["field:author"],"where":{"stars":{"$gte":3}}}"#, nil, "author equality,stars ordered",
                "ordered stars"
            ),
            (#"{"where":{"title":{"$regex":"^ab"}}}"#, nil, "title prefix", "prefix title"),
            (#"{"where":{"updated":{"$lte":"$now"}}}"#, nil, "updated ordered", "ordered updated"),
            (#"{"where":{"until":{"$gt":"$now"}}}"#, nil, "until none", nil),
            (
                #"{"where":{"event.participants":"$user.id"},"through":{"event":"Events"}}"#, "-stars", "event none",
                "ordered -stars"
            ),
        ] as [(String, String?, String, String?)])
    func `advice names the fields of the rule, but not for the master key`(
        _ entry: String, _ order: String?, _ uses: String, _ index: String?
    ) async throws {
        let advice = AdviceStore()
        let scope = try await Self.scope(entry)
        try Self.record(advice, order: order, in: scope)
        let list = advice.list(of: scope.collection, in: scope.space)
        #expect(list.count == 1 && list.first?.filter == [])
        #expect(list.first?.rule?.joined(separator: ",") == uses)
        #expect(Self.text(list.first?.index) == index)
        #expect(advice.list(of: try CollectionName("Events"), in: scope.space).isEmpty)

        let other = AdviceStore()
        var master = scope
        master.rights = .master
        try Self.record(other, order: order, in: master)
        let all = other.list(of: scope.collection, in: scope.space)
        #expect(all.count == 1 && all.first?.rule == nil && all.first?.order == list.first?.order)
        let ofMaster = order == "-stars" ? "ordered -stars" : nil
        #expect(Self.text(all.first?.index) == ofMaster)
    }

    @Test(
        arguments: [
            (#"{"start":{"$gte":5},"members":"$user.id"}"#, ["members equality", "start ordered"]),
            (#"{"members":"$user.id"}"#, nil),
        ] as [(String, [String]?)]) func `a range in a rule's query is advice for the collection of the query`(
            _ filter: String, _ uses: [String]?
        ) async throws
    {
        let advice = AdviceStore()
        let scope = try await Self.scope(
            #"{"where":{"event":{"$inQuery":{"className":"Events","where":\#(filter)}}}}"#)
        try Self.record(advice, order: nil, in: scope)
        let own = advice.list(of: scope.collection, in: scope.space)
        #expect(own.count == 1 && own.first?.rule == ["event none"])
        #expect(Self.text(own.first?.index) == nil)
        let others = advice.list(of: try CollectionName("Events"), in: scope.space)
        #expect(others.count == (uses == nil ? 0 : 1) && others.first?.filter == uses)
        #expect(Self.text(others.first?.index) == uses.map { _ in "ordered start" })
    }

    @Test
    func `slow lists of all copies are reported, a user's with the rule and the server's without`()
        async throws
    {
        let app = try await StorageApp()
        #expect(try await app.client.post("/storage/Note", #"{"stars":5}"#).status == 201)
        try await app.set(#"{"rules":{"find":[{"where":{"stars":{"$gte":3}}}]}}"#, on: "Note")
        let table = try app.space().table(CollectionName("Note"))
        // One after the other: two statements of a role may share a connection, where only the first waits for a lock.
        for client in [app.user("u1"), app.master] {
            // The lock makes the list call wait longer than the threshold.
            let slow = try await app.superuser.withTransaction { transaction in
                try await transaction.execute("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
                let answer = Task { try await client.get("/storage/Note") }
                try await StorageApp.waitUntilAStatementWaits(for: transaction)
                try await Task.sleep(for: AdviceStore.threshold * 3)
                return answer
            }
            #expect(try await slow.value["count"] == "1")
        }
        let advice = try await app.master.get("/collections/Note/advice")
        #expect(advice["count"] == "2", "\(advice)")
        let found = Set([0, 1].map { "\(advice["data.\($0).rule"] ?? "") \(advice["data.\($0).index"] ?? "")" })
        let expected: Set<String> = [" ", #"["stars ordered"] {"fields":["stars"],"kind":"ordered"}"#]
        #expect(found == expected, "\(advice)")

        // Another copy of the service sees a query twice, before and after it tells the others of it.
        let other = SlowQueries(postgres: app.postgres, advice: AdviceStore(), logger: .silent)
        let scope = QueryScope(space: try app.space(), collection: try CollectionName("Note"), rights: .master)
        for seconds in [1_000, 2_000] {
            try Self.record(other.advice, order: "-stars", in: scope, took: .seconds(seconds))
            try await other.share()
        }
        try await other.work()
        let all = try await app.master.get("/collections/Note/advice")
        #expect(
            all["count"] == "3" && all["data.0.order"] == #"["-stars"]"# && all["data.0.count"] == "2"
                && all["data.0.meanMilliseconds"] == "1500000" && all["data.0.slowestMilliseconds"] == "2000000",
            "\(all)")
    }

    /// A user's scope of the collection `Note`, whose rule for `find` has this entry.
    private static func scope(_ entry: String) async throws -> QueryScope {
        let space = try await StorageApp().space()
        let rules = try CollectionRules(JSONValue(parsing: #"{"rules":{"find":[\#(entry)]}}"#.utf8))
        return QueryScope(
            space: space, collection: try CollectionName("Note"),
            rights: Rights(
                identity: .user("u1", roles: []), in: space, collections: ["Note": rules, "Events": .none]))
    }

    private static func record(
        _ advice: AdviceStore, order: String?, in scope: QueryScope, took duration: Duration = .seconds(1)
    ) throws {
        var query = try ListQuery(Parameters(), in: scope)
        query.order = try order.map { try ListOrder.keys($0[...], scope.access) }
        advice.record(query, in: scope, took: duration)
    }

    private static func text(_ index: AdviceStore.Suggestion?) -> String? {
        index.map { "\($0.kind) \($0.fields.joined(separator: ","))" }
    }
}
