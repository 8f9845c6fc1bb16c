import Foundation
import Testing

@testable import MartletKit

struct FieldNameTests {
    enum Sport: String, Codable, CaseIterable { case tennis, football }
    enum Odd: String, Codable { case one, two }
    struct Address: Codable, Hashable {
        var city: String
        var zip: Int
    }
    struct Single: Codable, Hashable { var only: String }
    final class Node: Codable, Sendable {
        let name: String
        let next: Node?
        init() {
            name = ""
            next = nil
        }
    }

    @propertyWrapper struct Lenient<Wrapped: Codable & Sendable>: Codable, Sendable {
        var wrappedValue: Wrapped
        init(wrappedValue: Wrapped) { self.wrappedValue = wrappedValue }
        init(from decoder: any Decoder) throws {
            wrappedValue = try decoder.singleValueContainer().decode(Wrapped.self)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(wrappedValue)
        }
    }

    struct Everything: Storable {
        static let collection = "Everything"
        var title: String
        var renamed: Int
        var same: Int
        var open: Bool
        var closed: Bool
        var sport: Sport
        var maybeSport: Sport?
        var small: Int8
        var price: Decimal
        var ratio: Float
        var date: Date?
        var link: URL
        var uuid: UUID
        var data: Data
        var place: GeoPoint?
        var area: Polygon?
        var host: Pointer<Everything>
        var guests: [Pointer<Everything>]
        var tags: [String]
        var set: Set<Int>
        var scores: [String: Int]
        var address: Address
        var other: Address?
        var single: Single
        var picture: FileReference?
        var anything: JSON
        var node: Node?
        @Lenient var wrapped: Int
        var odd: Odd?
        var range: ClosedRange<Int>?
        var nextYear: Int { renamed + 1 }
        var adult: Bool { renamed > 18 }
        var label: String { title + address.city }
        var constant: Int { 7 }

        private enum CodingKeys: String, CodingKey {
            case title, same, open, closed, sport, maybeSport, small, price, ratio, date, link, uuid, data, place, area
            case host, guests, tags, set, scores, address, other, single, picture, anything, node, wrapped, odd, range
            case renamed = "re_named"
        }
    }

    static var stored: [(PartialKeyPath<Everything>, String)] {
        [
            (\.title, "title"), (\.renamed, "re_named"), (\.same, "same"), (\.open, "open"), (\.closed, "closed"),
            (\.sport, "sport"), (\.maybeSport, "maybeSport"), (\.small, "small"), (\.price, "price"),
            (\.ratio, "ratio"),
            (\.date, "date"), (\.link, "link"), (\.uuid, "uuid"), (\.data, "data"), (\.place, "place"),
            (\.area, "area"),
            (\.host, "host"), (\.guests, "guests"), (\.tags, "tags"), (\.set, "set"), (\.scores, "scores"),
            (\.address, "address"), (\.address.city, "address.city"), (\.address.zip, "address.zip"),
            (\.other, "other"),
            (\.other?.city, "other.city"), (\.single, "single"), (\.single.only, "single.only"), (\.picture, "picture"),
            (\.anything, "anything"), (\.node, "node"), (\.node?.name, "node.name"), (\.wrapped, "wrapped"),
            (\.place?.latitude, "place.latitude"), (\Everything.title, "title"),
        ]
    }

    @Test func `key paths name what the type encodes`() throws {
        for (path, name) in Self.stored { #expect(try FieldName.of(path).get() == name) }
    }

    @Test func `computed properties and unknown enums are refused, never another field`() {
        let computed: [PartialKeyPath<Everything>] = [
            \.nextYear, \.adult, \.label, \.constant, \.odd, \.title.count, \.tags[0], \.self,
        ]
        for path in computed {
            #expect(throws: MartletError.self, "\(path)") { try FieldName.of(path).get() }
        }
    }

    struct Named: Storable {
        static let collection = "Named"
        static var fieldNames: [PartialKeyPath<Named>: String] { [\.odd: "odd", \.name: "the_name"] }
        var odd: Odd
        var name: String
        var other: Int
    }

    @Test func `a type that cannot be decoded from samples states its field names`() throws {
        #expect(try FieldName.of(\Named.odd).get() == "odd")
        #expect(try FieldName.of(\Named.name).get() == "the_name")
        #expect { try FieldName.of(\Named.other).get() } throws: {
            ($0 as? MartletError)?.code == .unknownField && "\($0)".contains("Odd")
        }
    }

    @Test func `looking up a name takes little time`() throws {
        let start = Date()
        for (path, _) in Self.stored { _ = FieldName.of(path) }
        for _ in 0..<1_000 { _ = FieldName.of(\Everything.address.city) }
        #expect(Date().timeIntervalSince(start) < 20)
    }
}
