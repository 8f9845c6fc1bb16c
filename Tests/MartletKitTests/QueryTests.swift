import Foundation
import Testing

@testable import MartletKit

struct QueryTests {
    struct Person: Storable {
        static let collection = "People"
        var name: String
    }
    struct Event: Storable {
        static let collection = "Events"
        var title: String
        var age: Int?
        var tags: [String]
        var place: GeoPoint
        var host: Pointer<Person>
        var guests: [Pointer<Person>]?
        var date: Date
        var members: Relation<Person>?
    }

    static let here = GeoPoint(latitude: 46.5, longitude: 7.5)
    static let place: JSON = ["__type": "GeoPoint", "latitude": 46.5, "longitude": 7.5]

    static let conditions: [(Condition<Event>, JSON)] = [
        (\.title == "a", ["title": ["$eq": "a"]]), (\.age == nil, ["age": ["$eq": nil]]),
        (\.age != 3, ["age": ["$ne": 3]]), (\.age > 20, ["age": ["$gt": 20]]), (\.age <= 20, ["age": ["$lte": 20]]),
        (
            \.date >= Date(timeIntervalSince1970: 0),
            ["date": ["$gte": ["__type": "Date", "iso": "1970-01-01T00:00:00.000Z"]]]
        ),
        (Field<Date>.created < Date(timeIntervalSince1970: 0), ["created": ["$lt": "1970-01-01T00:00:00.000Z"]]),
        (Field("a.b") == 1, ["a.b": ["$eq": 1]]), (Field<String>.id == "x", ["_id": ["$eq": "x"]]),
        (.in(\.title, ["a", "b"]), ["title": ["$in": ["a", "b"]]]), (.contains(\.tags, "a"), ["tags": "a"]),
        (.containsAll(\.tags, ["a"]), ["tags": ["$all": ["a"]]]), (.exists(\.age), ["age": ["$exists": true]]),
        (.hasPrefix(\.title, "a.b"), ["title": ["$regex": #"^a\.b"#]]),
        (
            .containsText(\.title, "a"), ["title": ["$regex": "a", "$options": "i"]]
        ),
        (
            .near(\.place, of: here, within: .meters(500)),
            ["place": ["$nearSphere": place, "$maxDistanceInKilometers": 0.5]]
        ),
        (
            .matches(\.host, Person.query().where(\.name == "tim").limit(5)),
            ["host": ["$inQuery": ["className": "People", "where": ["name": ["$eq": "tim"]], "limit": 5]]]
        ),
        (
            .matches(\.guests, Person.query()), ["guests": ["$inQuery": ["className": "People", "where": [:]]]]
        ),
        (\.host == Pointer(id: "p"), ["host": ["$eq": ["__type": "Pointer", "className": "People", "objectId": "p"]]]),
        (
            \.title == "a" && !(\.age < 3) || \.age == 4,
            ["$or": [["$and": [["title": ["$eq": "a"]], ["$nor": [["age": ["$lt": 3]]]]]], ["age": ["$eq": 4]]]]
        ),
    ]

    @Test func `conditions are filters of the server`() throws {
        for (condition, filter) in Self.conditions { #expect(try condition.filter.get() == filter) }
    }

    @Test func `a query is one value`() throws {
        let query = Event.query().where(\.age > 20).near(\.place, of: Self.here, within: .kilometers(5))
            .order(by: \.age, .descending).order(by: .created).include(\.host).include(\.guests).select(\.title, \.age)
            .limit(20).skip(5).includingRemoved()
        #expect(
            try query.filter() == [
                "place": ["$nearSphere": Self.place, "$maxDistanceInKilometers": 5], "$and": [["age": ["$gt": 20]]],
            ])
        #expect(
            try query.parameters().map { "\($0.name)=\($0.value)" } == [
                "order=-age,created", "limit=20", "skip=5", "keys=title,age", "include=host,guests", "deleted=true",
            ])
    }

    @Test func `a wrong key path is an error of the call, and the first one counts`() async throws {
        let query = Event.query().where(\.title.count > 3).order(by: \.tags.count)
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, ["data": []]) }
        let martlet = try Martlet.scripted(transport)
        await #expect { try await martlet.storage.find(query) } throws: {
            ($0 as? MartletError)?.code == .unknownField
        }
        #expect(transport.sent.isEmpty)
    }
}
