import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// A place in degrees.
struct GeoPoint: Sendable, Equatable {
    static let earthRadiusInKilometers = 6_371.0
    static let earthRadiusInMiles = 3_958.8

    let latitude: Double
    let longitude: Double

    /// A GeoPoint, `{"latitude","longitude"}`, or, where `allowingPairs`, `[longitude, latitude]`.
    ///
    /// - Throws: `invalid-filter`.
    init(_ value: JSONValue?, allowingPairs: Bool = false, field: String) throws {
        var (latitude, longitude) = (TypedValue.number(value?["latitude"]), TypedValue.number(value?["longitude"]))
        if allowingPairs, case .array(let pair) = value, pair.count == 2 {
            (latitude, longitude) = (TypedValue.number(pair[1]), TypedValue.number(pair[0]))
        }
        guard let latitude, let longitude, (-90.0...90).contains(latitude), (-180.0...180).contains(longitude) else {
            throw HTTPProblem(
                .invalidFilter, "A place has a latitude from -90 to 90 and a longitude from -180 to 180.", field: field)
        }
        self.latitude = latitude
        self.longitude = longitude
    }

    var unit: PostgresQuery { "storage.unit(\(latitude), \(longitude))" }
}

/// Conditions on a GeoPoint or Polygon field, each with a part that a `geo` index serves.
enum GeoArea {
    static let maximumPoints = 1_000

    /// Sorts by distance from the place, the nearest first.
    static func distance(of path: PostgresQuery, from place: GeoPoint) -> PostgresQuery {
        "storage.sphere(\(path)) OPERATOR(storage.<->) \(place.unit)"
    }

    /// Within an angle of the place, in radians; nil: anywhere.
    static func near(_ path: PostgresQuery, _ place: GeoPoint, radians: Double?) -> PostgresQuery {
        guard let radians, radians < .pi else { return "storage.sphere(\(path)) IS NOT NULL" }
        // A little more, so that rounding loses nobody who stands on the edge.
        let chord = 2 * sin(radians / 2) + 1e-12
        return """
            (storage.sphere(\(path)) OPERATOR(storage.<@) storage.cube_enlarge(\(place.unit), \(chord), 3) \
            AND \(distance(of: path, from: place)) <= \(chord))
            """
    }

    /// Between two parallels and two meridians; over the 180th one when the western is the greater.
    static func box(_ path: PostgresQuery, southWest: GeoPoint, northEast: GeoPoint) -> PostgresQuery {
        let point: PostgresQuery = "storage.plane(\(path))"
        let joint: StaticString = southWest.longitude <= northEast.longitude ? " AND " : " OR "
        return """
            (\(bounds(path, south: southWest.latitude, north: northEast.latitude, west: southWest.longitude, east: northEast.longitude)) \
            AND (\(point))[1] BETWEEN \(southWest.latitude) AND \(northEast.latitude) \
            AND ((\(point))[0] >= \(southWest.longitude)\(unescaped: joint)(\(point))[0] <= \(northEast.longitude)))
            """
    }

    /// Inside a polygon drawn on a map of longitude and latitude, its edge included.
    static func polygon(_ path: PostgresQuery, _ points: [GeoPoint]) -> PostgresQuery {
        let text = "(" + points.map { "(\($0.longitude),\($0.latitude))" }.joined(separator: ",") + ")"
        let (latitudes, longitudes) = (points.map(\.latitude), points.map(\.longitude))
        let bounds = bounds(
            path, south: latitudes.min() ?? 0, north: latitudes.max() ?? 0, west: longitudes.min() ?? 0,
            east: longitudes.max() ?? 0)
        return "(\(bounds) AND \(text)::text::polygon @> storage.plane(\(path)))"
    }

    /// Polygons that the place is in.
    static func around(_ path: PostgresQuery, _ place: GeoPoint) -> PostgresQuery {
        "storage.area(\(path)) @> point(\(place.longitude), \(place.latitude))"
    }

    /// The box in space around a part of the sphere between parallels and meridians.
    private static func bounds(_ path: PostgresQuery, south: Double, north: Double, west: Double, east: Double)
        -> PostgresQuery
    {
        let radius = [south, north, south <= 0 && north >= 0 ? 0 : south].map { cos($0 * .pi / 180) }
        let end = west <= east ? east : east + 360
        // Sine and cosine have their extremes at the ends and at multiples of a right angle between them.
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
