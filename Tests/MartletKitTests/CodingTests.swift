import Foundation
import Testing

@testable import MartletKit

struct CodingTests {
    struct Everything: Codable, Equatable {
        var text = "é\n"
        var flag = true
        var whole = Int64.max
        var unsigned = UInt64.max
        var half = 0.5
        var single: Float = 0.1
        var price: Decimal = 1.1
        var date = Date(timeIntervalSince1970: 1_795_255_033.424)
        var data = Data([0, 255])
        var link = URL(string: "https://example.org/a?b=c")
        var id = UUID()
        var list = [1, 2]
        var nested = ["a": ["b": [1.5]]]
        var none: Int?
        var json: JSON = ["x": [1, nil, "y"]]
    }

    @Test func `every kind of value survives`() throws {
        let value = Everything()
        let json = try JSON(encoding: value)
        #expect(json["unsigned"]?.numberValue?.text == "18446744073709551615")
        #expect(json["single"]?.numberValue?.text == "0.1")
        #expect(json["date"] == ["__type": "Date", "iso": "2026-11-21T09:57:13.424Z"])
        #expect(json["data"] == ["__type": "Bytes", "base64": "AP8="])
        #expect(json["none"] == nil)
        let read = try JSON(parsing: json.data).decoded(as: Everything.self)
        #expect(read == value)
    }

    struct Person: Codable, Equatable {
        var name: String
        var age: Int
        var admin: Bool
        var tags: [String]
    }

    @Test(arguments: [
        (#"{"name":"a","age":44,"admin":true,"tags":["x"],"extra":{}}"#, "a"),
        (#"{"name":7,"age":"44","admin":"true","tags":["x"]}"#, "7"),
        (#"{"name":true,"age":44.0,"admin":1,"tags":"x"}"#, "true"),
    ])
    func `values are converted if nothing is lost`(text: String, name: String) throws {
        let read = try JSON(parsing: Data(text.utf8)).decoded(as: Person.self)
        #expect(read == Person(name: name, age: 44, admin: true, tags: ["x"]))
    }

    @Test(arguments: [
        (#"{"name":"a","age":44.5,"admin":true,"tags":[]}"#, "age"), (#"{"age":44,"admin":true,"tags":[]}"#, "name"),
        (#"{"name":"a","age":4,"admin":2,"tags":[]}"#, "admin"),
        (#"{"name":"a","age":4,"admin":true,"tags":[{}]}"#, "tags.0"),
        (#"{"name":"a","age":"many","admin":true,"tags":[]}"#, "age"),
    ])
    func `the error for a value that does not fit its field names the field`(text: String, field: String) throws {
        let json = try JSON(parsing: Data(text.utf8))
        #expect { try json.decoded(as: Person.self) } throws: {
            ($0 as? MartletError)?.code == .undecodable && ($0 as? MartletError)?.field == field
        }
    }

    @Test func `the tolerance can be narrowed and widened`() throws {
        let text: JSON = ["name": "a", "age": "44", "admin": true, "tags": []]
        #expect(throws: MartletError.self) { try text.decoded(as: Person.self, tolerance: .none) }
        let empty = try JSON.object([:]).decoded(as: Person.self, tolerance: .all)
        #expect(empty == Person(name: "", age: 0, admin: false, tags: []))
    }

    @Test func `infinite numbers are refused`() {
        #expect(throws: (any Error).self) { try JSON(encoding: ["a": Double.infinity]) }
    }

    class Animal: Codable { var name = "cat" }
    final class Cat: Animal {
        var lives = 9
        override init() { super.init() }
        private enum Keys: String, CodingKey { case lives }
        required init(from decoder: any Decoder) throws {
            lives = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .lives)
            try super.init(from: decoder)
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(lives, forKey: .lives)
            try super.encode(to: encoder)
        }
    }

    @Test func `subclasses share one object`() throws {
        let json = try JSON(encoding: Cat())
        #expect(json == ["name": "cat", "lives": 9])
        #expect(try json.decoded(as: Cat.self).lives == 9)
    }
}
