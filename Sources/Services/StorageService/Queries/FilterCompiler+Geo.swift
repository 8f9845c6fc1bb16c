import MartletAPI
import MartletCore
import MartletPostgres

extension FilterCompiler {
    mutating func compileGeo(_ name: String, _ value: JSONValue, _ operands: Operands) throws -> PostgresQuery? {
        switch name {
        case "$nearSphere": return try near(value, operands)
        case "$maxDistance", "$maxDistanceInKilometers", "$maxDistanceInMiles", "$maxDistanceInRadians":
            guard operands.value("$nearSphere") != nil else { throw operands.refusal("\(name) requires $nearSphere.") }
            return nil
        case "$within": return try box(value, operands)
        case "$geoWithin": return try within(value, operands)
        case "$geoIntersects":
            guard let point = value["$point"] else { throw operands.refusal("$geoIntersects requires a \"$point\".") }
            let place = try GeoPoint(point, allowingPairs: true, field: operands.target.name)
            use(operands.target, .none)
            return try count { GeoArea.around(try operands.target.documentPath(name).expression, place) }
        default: throw Self.unknown(name)
        }
    }

    private mutating func near(_ value: JSONValue, _ operands: Operands) throws -> PostgresQuery {
        let place = try GeoPoint(value, allowingPairs: true, field: operands.target.name)
        let path = try operands.target.documentPath("$nearSphere").expression
        use(operands.target, .geo)
        if rule == nil, subqueryDepth == 0, isRequired {
            try sort(by: GeoArea.distance(of: path, from: place), operands)
        }
        let radians = try Self.radians(operands)
        return try count { GeoArea.near(path, place, radians: radians) }
    }

    /// A place at the top takes precedence over places in `$and`; among these, the first one is used.
    private mutating func sort(by distance: PostgresQuery, _ operands: Operands) throws {
        guard operands.isOutermost else {
            filter.order = filter.order ?? distance
            return
        }
        guard !isSortedAtTop else { throw operands.refusal("A filter can have only one $nearSphere to sort by.") }
        isSortedAtTop = true
        filter.order = distance
    }

    private static func radians(_ operands: Operands) throws -> Double? {
        let units: [(name: String, size: Double)] = [
            ("$maxDistance", 1), ("$maxDistanceInRadians", 1),
            ("$maxDistanceInKilometers", GeoPoint.earthRadiusInKilometers),
            ("$maxDistanceInMiles", GeoPoint.earthRadiusInMiles),
        ]
        return try units.compactMap { unit in
            try operands.value(unit.name).map { value in
                guard let number = TypedValue.number(value), number >= 0 else {
                    throw operands.refusal("\(unit.name) must be a number of at least 0.")
                }
                return number / unit.size
            }
        }.min()
    }

    private mutating func box(_ value: JSONValue, _ operands: Operands) throws -> PostgresQuery {
        guard case .array(let corners) = value["$box"], corners.count == 2 else {
            throw operands.refusal("$within requires a \"$box\": its south-western and north-eastern corners.")
        }
        let field = operands.target.name
        let southWest = try GeoPoint(corners[0], allowingPairs: true, field: field)
        let northEast = try GeoPoint(corners[1], allowingPairs: true, field: field)
        guard southWest.latitude <= northEast.latitude else {
            throw operands.refusal("The first corner of a $box must be the southern one.")
        }
        use(operands.target, .geo)
        return try count {
            GeoArea.box(
                try operands.target.documentPath("$within").expression, southWest: southWest, northEast: northEast)
        }
    }

    private mutating func within(_ value: JSONValue, _ operands: Operands) throws -> PostgresQuery {
        let (path, field) = (try operands.target.documentPath("$geoWithin").expression, operands.target.name)
        use(operands.target, .geo)
        if let polygon = value["$polygon"] {
            let points = try Self.points(polygon, operands)
            return try count { GeoArea.polygon(path, points) }
        }
        guard case .array(let circle) = value["$centerSphere"], circle.count == 2,
            let radians = TypedValue.number(circle[1]), radians >= 0
        else {
            throw operands.refusal(
                "$geoWithin requires a \"$polygon\", or a \"$centerSphere\": place and radius in radians.")
        }
        let place = try GeoPoint(circle[0], allowingPairs: true, field: field)
        return try count { GeoArea.near(path, place, radians: radians) }
    }

    /// GeoPoints or `[longitude, latitude]` pairs; or a Polygon, whose coordinates are in the opposite order.
    private static func points(_ value: JSONValue, _ operands: Operands) throws -> [GeoPoint] {
        var list = value
        if value["__type"] == .string("Polygon"), case .array(let coordinates) = value["coordinates"] {
            list = .array(
                coordinates.map { pair in
                    if case .array(let numbers) = pair { .array(numbers.reversed()) } else { pair }
                })
        }
        guard case .array(let points) = list, points.count >= 3 else {
            throw operands.refusal("A $polygon must have at least 3 points.")
        }
        guard points.count <= GeoArea.maximumPoints else {
            throw ServiceError(
                .limitExceeded, "A $polygon may have at most \(GeoArea.maximumPoints) points.",
                field: operands.target.name)
        }
        return try points.map { try GeoPoint($0, allowingPairs: true, field: operands.target.name) }
    }
}
