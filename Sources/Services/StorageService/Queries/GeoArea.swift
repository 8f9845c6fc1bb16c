import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// A place in degrees.
struct GeoPoint: Sendable, Equatable {
    static let earthRadiusInKilometers = 6_371.0
    static let earthRadiusInMiles = 3_958.8

    let latitude: Double
    let longitude: Double

    /// - Parameter allowingPairs: Whether to also accept `[longitude, latitude]` instead of a GeoPoint,
    ///   `{"latitude","longitude"}`.
    ///
    /// - Throws: `invalid-filter`.
    init(_ value: JSONValue?, allowingPairs: Bool = false, field: String) throws {
        var (latitude, longitude) = (TypedValue.number(value?["latitude"]), TypedValue.number(value?["longitude"]))
        if allowingPairs, case .array(let pair) = value, pair.count == 2 {
            (latitude, longitude) = (TypedValue.number(pair[1]), TypedValue.number(pair[0]))
        }
        guard let latitude, let longitude, (-90.0...90).contains(latitude), (-180.0...180).contains(longitude) else {
            throw ServiceError(
                .invalidFilter, "A place must have a latitude from -90 to 90 and a longitude from -180 to 180.",
                field: field)
        }
        self.latitude = latitude
        self.longitude = longitude
    }

    var unit: PostgresQuery { "storage.unit(\(latitude), \(longitude))" }
}

/// Conditions on a GeoPoint or Polygon field. A `geo` index supports a part of each.
enum GeoArea {
    static let maximumPoints = 1_000

    /// Sorts by distance from the place, nearest first.
    static func distance(of path: PostgresQuery, from place: GeoPoint) -> PostgresQuery {
        "storage.sphere(\(path)) OPERATOR(storage.<->) \(place.unit)"
    }

    /// Within an angle of the place, in radians; nil for any distance.
    static func near(_ path: PostgresQuery, _ place: GeoPoint, radians: Double?) -> PostgresQuery {
        guard let radians, radians < .pi else { return "storage.sphere(\(path)) IS NOT NULL" }
        // Slightly more, so that rounding does not exclude points on the edge.
        let chord = 2 * sin(radians / 2) + 1e-12
        return """
            (storage.sphere(\(path)) OPERATOR(storage.<@) storage.cube_enlarge(\(place.unit), \(chord), 3) \
            AND \(distance(of: path, from: place)) <= \(chord))
            """
    }

    /// Between two parallels and two meridians. Crosses the 180th meridian if the western one is greater.
    static func box(_ path: PostgresQuery, southWest: GeoPoint, northEast: GeoPoint) -> PostgresQuery {
        let point: PostgresQuery = "storage.plane(\(path))"
        let joint: StaticString = southWest.longitude <= northEast.longitude ? " AND " : " OR "
        return """
            (\(bounds(path, south: southWest.latitude, north: northEast.latitude, west: southWest.longitude, east: northEast.longitude)) \
            AND (\(point))[1] BETWEEN \(southWest.latitude) AND \(northEast.latitude) \
            AND ((\(point))[0] >= \(southWest.longitude)\(unescaped: joint)(\(point))[0] <= \(northEast.longitude)))
            """
    }

    /// Inside a polygon on a map of longitude and latitude, including its edge.
    static func polygon(_ path: PostgresQuery, _ points: [GeoPoint]) -> PostgresQuery {
        let text = "(" + points.map { "(\($0.longitude),\($0.latitude))" }.joined(separator: ",") + ")"
        let (latitudes, longitudes) = (points.map(\.latitude), points.map(\.longitude))
        let bounds = bounds(
            path, south: latitudes.min() ?? 0, north: latitudes.max() ?? 0, west: longitudes.min() ?? 0,
            east: longitudes.max() ?? 0)
        return "(\(bounds) AND \(text)::text::polygon @> storage.plane(\(path)))"
    }

    /// Polygons that contain the place.
    static func around(_ path: PostgresQuery, _ place: GeoPoint) -> PostgresQuery {
        "storage.area(\(path)) @> point(\(place.longitude), \(place.latitude))"
    }

    /// The box in three dimensions that encloses a part of the sphere between parallels and meridians.
    private static func bounds(_ path: PostgresQuery, south: Double, north: Double, west: Double, east: Double)
        -> PostgresQuery
    {
        let radius = [south, north, south <= 0 && north >= 0 ? 0 : south].map { cos($0 * .pi / 180) }
        let end = west <= east ? east : east + 360
        // Sine and cosine have their extremes at the ends of the interval and at multiples of a right angle in it.
        let turns = stride(from: -360.0, through: 540, by: 90).filter { $0 >= west && $0 <= end }
        let angles = ([west, end] + turns).map { $0 * .pi / 180 }
        let xs = angles.flatMap { angle in radius.map { $0 * cos(angle) } }
        let ys = angles.flatMap { angle in radius.map { $0 * sin(angle) } }
        let edge = 1e-12
        let low = [xs.min() ?? -1, ys.min() ?? -1, sin(south * .pi / 180)].map { $0 - edge }
        let high = [xs.max() ?? 1, ys.max() ?? 1, sin(north * .pi / 180)].map { $0 + edge }
        return """
            storage.sphere(\(path)) OPERATOR(storage.<@) storage.cube(\
            ARRAY[\(low[0]), \(low[1]), \(low[2])], ARRAY[\(high[0]), \(high[1]), \(high[2])])
            """
    }
}
