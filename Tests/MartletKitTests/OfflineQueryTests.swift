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

    struct Place: Storable {
        static let collection = TestServer.name("KitPlaces")
        var n: Int?
    }

    struct Court: Storable {
        static let collection = TestServer.name("KitCourts")
        var place: GeoPoint
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

    private static func place(_ latitude: Double, _ longitude: Double) throws -> JSON {
        try JSON(encoding: GeoPoint(latitude: latitude, longitude: longitude))
    }

    /// All over the earth, also near the poles and on both sides of the 180th meridian; some places occur twice.
    private static func places(_ random: inout SeededGenerator) throws -> [JSON] {
        let places = try (0..<120).map { _ in
            try place(Double.random(in: -90...90, using: &random), Double.random(in: -180...180, using: &random))
        }
        let known = try [place(90, 0), place(-90, 12), place(0, 180), place(0, -180), place(46.9, 7.4)]
        let others: [JSON] = [
            .null, "Bern", 3, [], ["latitude": 91, "longitude": 0], ["latitude": "1", "longitude": 2],
        ]
        var all = places
        for more in [Array(places.prefix(20)), known, known, others] { all += more }
        return all.shuffled(using: &random)
    }

    private static func placeFilter(_ random: inout SeededGenerator) throws -> JSON {
        let latitude = Double.random(in: -90...90, using: &random)
        let longitude = Double.random(in: -180...180, using: &random)
        let center = Int.random(in: 0..<4, using: &random) == 0 ? try place(46.9, 7.4) : try place(latitude, longitude)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return ["f": ["$nearSphere": center]]
        case 1: return ["f": ["$nearSphere": center, "$maxDistanceInKilometers": 4_000]]
        case 2: return ["f": ["$nearSphere": center, "$maxDistanceInMiles": 9_000, "$maxDistance": 2.5]]
        case 3: return ["$and": [["n": ["$gt": 20]], ["f": ["$nearSphere": center, "$maxDistanceInRadians": 1]]]]
        case 4: return ["$or": [["f": ["$nearSphere": center, "$maxDistance": 0.5]], ["n": ["$lt": 9]]]]
        default:
            let corner = try place(min(90, latitude + 40), Double.random(in: -180...180, using: &random))
            return ["f": ["$within": ["$box": .array([try place(latitude, longitude), corner])]]]
        }
    }

    @Test func `the device finds the places that the server finds, in the same order`() async throws {
        let device = try await TestServer.offlineDevice()
        var random = SeededGenerator(seed: 11)
        let objects = try Self.places(&random).enumerated().map { number, place -> JSON in
            ["n": .number(JSONNumber(number)), "f": place]
        }
        try await TestServer.manage("POST", "storage/all/" + Place.collection, .array(objects))
        let kept = try await device.offline.collection(Place.self)
        try await kept.sync()
        var found = 0
        for _ in 0..<100 {
            let filter = try Self.placeFilter(&random)
            let query = Place.query().where(Condition(filter: filter)).limit(100)
            let local = await kept.store.answer(try LocalQuery(query))
            let server = try await TestServer.manage(
                "POST", "storage/query/\(Place.collection)?" + Self.text(try query.parameters()), filter)
            let ids = server["data"]?.arrayValue?.compactMap { $0["_id"]?.stringValue } ?? []
            #expect(local.compactMap { $0["_id"]?.stringValue } == ids, "\(filter)")
            found += ids.count
        }
        #expect(found > 2_000, "\(found)")
    }

    @Test func `a device keeps only the objects near a place, and a query cannot sort by two places`() async throws {
        let here = GeoPoint(latitude: 46.9, longitude: 7.4)
        let places = [here, GeoPoint(latitude: 46.95, longitude: 7.4), GeoPoint(latitude: 48, longitude: 7.4)]
        let device = try await TestServer.offlineDevice()
        let courts = try places.map { try JSON(encoding: Court(place: $0)) }
        try await TestServer.manage("POST", "storage/all/" + Court.collection, .array(courts))
        let kept = try await device.offline.collection(
            Court.self, where: .near(\.place, of: here, within: .kilometers(9)))
        try await kept.sync()
        let nearest = try await kept.find(Court.query().near(\.place, of: places[2]))
        #expect(nearest.map(\.value.place) == [places[1], here])
        let two: JSON = ["f": ["$nearSphere": try Self.place(1, 1)], "g": ["$nearSphere": try Self.place(2, 2)]]
        #expect { try LocalFilter(two) } throws: { ($0 as? MartletError)?.code == .unsupportedOffline }
    }

    private static func text(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { $0.name + "=" + APIRequest.escape($0.value) }.joined(separator: "&")
    }

    @Test(
        arguments: [
            ["f": ["$nearSphere": [7.4, 46.9]]], ["f": ["$geoWithin": ["$polygon": []]]], ["f": ["$regex": "a.*"]],
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
