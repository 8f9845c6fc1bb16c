import Foundation

/// A place on the unit sphere, as the server computes with it (`storage.sphere` and `storage.plane`).
///
/// The straight distance between two places grows with the distance on the ground, so it gives the same order and
/// radius, also around the poles and the 180th meridian.
struct LocalPlace: Sendable {
    private static let earthRadiusInKilometers = 6_371.0
    private static let earthRadiusInMiles = 3_958.8
    /// As PostgreSQL computes radians, so that equal distances are equal here, too.
    private static let radiansInDegree = 0.0174532925199432957692
    /// Greater than the distance of any two places.
    private static let unlimited = 3.0

    /// In degrees.
    let latitude: Double
    let longitude: Double
    private let point: (x: Double, y: Double, z: Double)

    private init(latitude: Double, longitude: Double) {
        (self.latitude, self.longitude) = (latitude, longitude)
        let (north, east) = (latitude * Self.radiansInDegree, longitude * Self.radiansInDegree)
        point = (cos(north) * cos(east), cos(north) * sin(east), sin(north))
    }

    /// The place of an object, rounded as on the server; nil if the value is not a GeoPoint.
    init?(_ value: JSON?) {
        guard let (latitude, longitude) = Self.degrees(value) else { return nil }
        self.init(latitude: (latitude * 1e12).rounded() / 1e12, longitude: (longitude * 1e12).rounded() / 1e12)
    }

    /// The place that an operator names.
    ///
    /// - Throws: ``MartletError/Code/unsupportedOffline`` for a place in another form than a GeoPoint.
    init(_ operand: JSON?, of name: String) throws {
        guard let (latitude, longitude) = Self.degrees(operand) else { throw LocalFilter.unsupported(name) }
        self.init(latitude: latitude, longitude: longitude)
    }

    private static func degrees(_ value: JSON?) -> (latitude: Double, longitude: Double)? {
        guard let latitude = value?["latitude"]?.doubleValue, let longitude = value?["longitude"]?.doubleValue,
            (-90...90).contains(latitude), (-180...180).contains(longitude)
        else { return nil }
        return (latitude, longitude)
    }

    /// The length of the straight line between two places, in radii of the earth.
    func distance(to other: LocalPlace) -> Double {
        let (x, y, z) = (point.x - other.point.x, point.y - other.point.y, point.z - other.point.z)
        return (x * x + y * y + z * z).squareRoot()
    }

    /// The greatest distance that the operators beside a `$nearSphere` allow.
    static func limit(_ operators: [String: JSON]) throws -> Double {
        let units = [
            "$maxDistance": 1, "$maxDistanceInRadians": 1, "$maxDistanceInKilometers": earthRadiusInKilometers,
            "$maxDistanceInMiles": earthRadiusInMiles,
        ]
        var radians = Double.infinity
        for (name, size) in units {
            guard let operand = operators[name] else { continue }
            guard let number = operand.doubleValue, number >= 0 else { throw LocalFilter.invalid(operand) }
            radians = min(radians, number / size)
        }
        // Slightly more, as on the server, so that rounding does not exclude places on the edge.
        return radians < .pi ? 2 * sin(radians / 2) + 1e-12 : unlimited
    }
}

/// The part of a map between two parallels and two meridians. Crosses the 180th meridian if the western one is greater.
struct LocalBox: Sendable {
    private let southWest: LocalPlace
    private let northEast: LocalPlace

    init(_ operand: JSON) throws {
        southWest = try LocalPlace(operand["$box"]?[0], of: "$within")
        northEast = try LocalPlace(operand["$box"]?[1], of: "$within")
        guard southWest.latitude <= northEast.latitude else { throw LocalFilter.invalid(operand) }
    }

    func contains(_ place: LocalPlace) -> Bool {
        guard (southWest.latitude...northEast.latitude).contains(place.latitude) else { return false }
        let (isEastOfWest, isWestOfEast) = (
            place.longitude >= southWest.longitude, place.longitude <= northEast.longitude
        )
        return southWest.longitude <= northEast.longitude
            ? isEastOfWest && isWestOfEast : isEastOfWest || isWestOfEast
    }
}
