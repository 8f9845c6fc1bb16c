/// The types that generated text uses for Martlet's typed values and for values of any kind.
enum SwiftSupport {
    static let text = #"""
        /// A point in time with milliseconds.
        public struct MartletDate: Codable, Sendable, Equatable {
            public var date: Date

            public init(_ date: Date) { self.date = date }

            private enum CodingKeys: String, CodingKey { case type = "__type", iso }
            private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

            public init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: CodingKeys.self)
                date = try Self.style.parse(try values.decode(String.self, forKey: .iso))
            }

            public func encode(to encoder: any Encoder) throws {
                var values = encoder.container(keyedBy: CodingKeys.self)
                try values.encode("Date", forKey: .type)
                try values.encode(Self.style.format(date), forKey: .iso)
            }
        }

        /// A reference to an object.
        public struct MartletPointer: Codable, Sendable, Equatable {
            private var __type = "Pointer"
            public var className: String
            public var objectId: String

            public init(className: String, objectId: String) { (self.className, self.objectId) = (className, objectId) }
        }

        /// References to any number of objects of a collection.
        public struct MartletRelation: Codable, Sendable, Equatable {
            private var __type = "Relation"
            public var className: String

            public init(className: String) { self.className = className }
        }

        public struct MartletGeoPoint: Codable, Sendable, Equatable {
            private var __type = "GeoPoint"
            public var latitude: Double
            public var longitude: Double

            public init(latitude: Double, longitude: Double) { (self.latitude, self.longitude) = (latitude, longitude) }
        }

        /// An area; each point is a latitude and a longitude.
        public struct MartletPolygon: Codable, Sendable, Equatable {
            private var __type = "Polygon"
            public var coordinates: [[Double]]

            public init(coordinates: [[Double]]) { self.coordinates = coordinates }
        }

        public struct MartletFile: Codable, Sendable, Equatable {
            private var __type = "File"
            public var name: String
            public var url: String?

            public init(name: String, url: String? = nil) { (self.name, self.url) = (name, url) }
        }

        /// Bytes, in Base64.
        public struct MartletBytes: Codable, Sendable, Equatable {
            private var __type = "Bytes"
            public var base64: String

            public init(base64: String) { self.base64 = base64 }
        }

        /// A value of any kind.
        public enum MartletJSON: Codable, Sendable, Equatable {
            case null
            case bool(Bool)
            case number(Double)
            case string(String)
            case array([MartletJSON])
            case object([String: MartletJSON])

            public init(from decoder: any Decoder) throws {
                let value = try decoder.singleValueContainer()
                if value.decodeNil() {
                    self = .null
                } else if let bool = try? value.decode(Bool.self) {
                    self = .bool(bool)
                } else if let number = try? value.decode(Double.self) {
                    self = .number(number)
                } else if let string = try? value.decode(String.self) {
                    self = .string(string)
                } else if let array = try? value.decode([MartletJSON].self) {
                    self = .array(array)
                } else {
                    self = .object(try value.decode([String: MartletJSON].self))
                }
            }

            public func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                switch self {
                case .null: try container.encodeNil()
                case .bool(let bool): try container.encode(bool)
                case .number(let number): try container.encode(number)
                case .string(let string): try container.encode(string)
                case .array(let array): try container.encode(array)
                case .object(let object): try container.encode(object)
                }
            }
        }

        """#
}
