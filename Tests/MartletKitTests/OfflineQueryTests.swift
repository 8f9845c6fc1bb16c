import Foundation
import Testing

@testable import MartletKit

struct OfflineQueryTests {
    struct Thing: Storable, Equatable {
        static let collection = TestServer.name("KitThings")
        var n: Int?
        var text: String?
        var tags: [String]?
    }

    /// Values of every type for the same fields, and fields that are missing.
    private static let values: [JSON] = [
        .null, true, false, 0, 1, 1.0, 1.5, -3, 20, "", "a", "b", "Bread", "bread", "1", ["a"], ["a", "b"], [1, "b"],
        [], ["x": 1], [:], ["__type": "Date", "iso": "2026-11-21T09:57:13.424Z"],
        ["__type": "Date", "iso": "2027-01-01T00:00:00.000Z"],
        ["__type": "Pointer", "className": "Notes", "objectId": "n1"],
    ]
    private static let scalars = values.filter { $0.objectValue == nil && $0.arrayValue == nil && !$0.isNull }
    private static let names = ["f", "g", "deep.h"]

    private static func filter(_ random: inout SeededGenerator, depth: Int = 0) -> JSON {
        func value() -> JSON { values.randomElement(using: &random) ?? .null }
        func scalar() -> JSON { scalars.randomElement(using: &random) ?? 1 }
        let name = names.randomElement(using: &random) ?? "f"
        switch Int.random(in: 0..<(depth < 2 ? 14 : 11), using: &random) {
        case 0: return [name: value()]
        case 1: return [name: ["$ne": value()]]
        case 2: return [name: ["$in": .array([value(), value()])]]
        case 3: return [name: ["$nin": .array([value(), value()])]]
        case 4: return [name: ["$exists": .bool(Bool.random(using: &random))]]
        case 5: return [name: ["$gt": scalar()]]
        case 6: return [name: ["$lte": scalar(), "$ne": value()]]
        case 7: return [name: ["$gte": ["__type": "Date", "iso": "2026-12-01T00:00:00Z"]]]
        case 8: return [name: ["$all": Int.random(in: 0..<4, using: &random) == 0 ? [] : [scalar()]]]
        case 9: return [name: ["$containedBy": ["a", "b", scalar()]]]
        case 10: return [name: ["$regex": .string(["^Br", "rea", "^b\\-", "a"].randomElement(using: &random) ?? "")]]
        case let kind:
            let parts = JSON.array((0..<2).map { _ in filter(&random, depth: depth + 1) })
            return [["$and", "$or", "$nor"][kind - 11]: parts]
        }
    }

    @Test func `the device finds what the server finds, in the same order`() async throws {
        let device = try await TestServer.offlineDevice()
        var random = SeededGenerator(seed: 7)
        let objects = (0..<250).map { _ -> JSON in
            var object: JSON = [:]
            for name in ["f", "g"] where Int.random(in: 0..<5, using: &random) > 0 {
                object[name] = Self.values.randomElement(using: &random)
            }
            if Bool.random(using: &random) { object["deep"] = ["h": Self.values.randomElement(using: &random) ?? 1] }
            return object
        }
        try await TestServer.manage("POST", "storage/all/" + Thing.collection, .array(objects))
        let things = try await device.offline.collection(Thing.self)
        try await things.sync()
        var found = 0
        for _ in 0..<300 {
            let filter = Self.filter(&random)
            let order = Field<Int>(Self.names.randomElement(using: &random) ?? "f")
            let query = Thing.query().where(Condition(filter: filter)).order(
                by: order, Bool.random(using: &random) ? .ascending : .descending
            ).skip(Int.random(in: 0..<3, using: &random)).limit(120)
            let local = await things.store.answer(try LocalQuery(query))
            let server = try await TestServer.manage(
                "POST", "storage/query/\(Thing.collection)?" + Self.text(try query.parameters()), filter)
            let ids = server["data"]?.arrayValue?.compactMap { $0["_id"]?.stringValue } ?? []
            #expect(local.compactMap { $0["_id"]?.stringValue } == ids, "\(filter) by \(order.name)")
            found += ids.count
        }
        #expect(found > 3_000, "\(found)")
    }

    private static func text(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { $0.name + "=" + APIRequest.escape($0.value) }.joined(separator: "&")
    }

    @Test(
        arguments: [
            ["f": ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]]], ["f": ["$regex": "a.*"]],
            ["f": ["$regex": "a", "$options": "i"]], ["f": ["$inQuery": ["className": "A", "where": [:]]]],
            ["f": ["$text": ["$search": "a"]]], ["$relatedTo": ["key": "a"]], ["f": ["$gt": ["$relativeTime": "now"]]],
            ["$or": [["f": ["$within": ["$box": []]]]]], ["f": ["$future": 1]],
        ] as [JSON])
    func `what the device cannot evaluate is an error, and never a wrong answer`(filter: JSON) {
        #expect { try LocalFilter(filter) } throws: { ($0 as? MartletError)?.code == .unsupportedOffline }
    }

    @Test func `patterns compare bytes, and an empty list of wanted elements finds nothing`() throws {
        let composed: JSON = ["f": "caf\u{e9}"], decomposed: JSON = ["f": "cafe\u{301}!"]
        let filter = try LocalFilter(["f": ["$regex": "\u{e9}"]])
        #expect(filter.matches(composed) && !filter.matches(decomposed))
        #expect(try LocalFilter(["f": ["$regex": "cafe"]]).matches(decomposed))
        #expect(try !LocalFilter(["f": ["$all": []]]).matches(["f": ["a"]]))
    }

    @Test func `an invalid filter is an error`() {
        for filter: JSON in [1, ["$or": []], ["f": ["$gt": [1]]], ["f": ["$in": 1]], ["f": ["$exists": 1]]] {
            #expect { try LocalFilter(filter) } throws: { ($0 as? MartletError)?.code == .invalidFilter }
        }
    }
}
