/// A place on earth, in degrees.
public struct GeoPoint: Sendable, Hashable {
    public var latitude: Double
    public var longitude: Double

    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

extension GeoPoint: Codable {
    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case latitude, longitude
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        latitude = try container.decode(Double.self, forKey: .latitude)
        longitude = try container.decode(Double.self, forKey: .longitude)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("GeoPoint", forKey: .type)
        try container.encode(latitude, forKey: .latitude)
        try container.encode(longitude, forKey: .longitude)
    }
}

/// An area on earth: the corners in order, the last joined to the first.
public struct Polygon: Sendable, Hashable {
    public var corners: [GeoPoint]

    public init(_ corners: [GeoPoint]) { self.corners = corners }
}

extension Polygon: Codable {
    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case coordinates
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        corners = try container.decode([[Double]].self, forKey: .coordinates).map { pair in
            guard pair.count == 2 else {
                throw DecodingError.dataCorruptedError(
                    forKey: .coordinates, in: container, debugDescription: "expected latitude and longitude")
            }
            return GeoPoint(latitude: pair[0], longitude: pair[1])
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("Polygon", forKey: .type)
        try container.encode(corners.map { [$0.latitude, $0.longitude] }, forKey: .coordinates)
    }
}

extension Polygon: Sampled {
    public static var samples: (Polygon, Polygon) { (Polygon([]), Polygon([GeoPoint(latitude: 0, longitude: 0)])) }
}

/// A distance on earth.
public struct Distance: Sendable, Hashable {
    public let kilometers: Double

    public static func kilometers(_ value: Double) -> Distance { Distance(kilometers: value) }
    public static func meters(_ value: Double) -> Distance { Distance(kilometers: value / 1_000) }
    public static func miles(_ value: Double) -> Distance { Distance(kilometers: value * 1.609_344) }
}
