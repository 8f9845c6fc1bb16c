import MartletAPI
import MartletCore
import MartletStatistics

/// The observed sums of a metric over the units of one variation.
struct Observation: Sendable {
    var value: Sums
    /// The denominator of a ratio or the covariate of an adjusted metric.
    var other: Sums?
    var sumOfProducts = 0.0

    var paired: PairedSums? { other.map { PairedSums(value, $0, sumOfProducts: sumOfProducts) } }
}

extension ExperimentDocument.Metric {
    private static let maximumUnits = 1_000_000_000_000
    /// Analytics adds numbers up to 10¹²; the squares of some millions of them by one unit are below this limit.
    private static let maximumNumber = 1e60

    /// The name of the member with the second value; nil if there is none.
    private var otherName: String? { kind == .ratio ? "denominator" : hasCovariate ? "covariate" : nil }

    /// Reads `{"<variation>":{"units","sum","sumOfSquares",…}}`, which must include every variation.
    ///
    /// - Throws: `invalid-body` with the field.
    func observations(_ value: JSONValue?, of variations: [ExperimentDocument.Variation], field: String) throws
        -> [String: Observation]
    {
        guard case .object(let members)? = value else {
            let found = value?.phrase ?? "nothing"
            throw ServiceError(
                .invalidBody, "Expected an object of sums by variation, found \(found).", field: field)
        }
        if let unknown = members.first(where: { member in !variations.contains { $0.key == member.name } }) {
            throw ServiceError(.invalidBody, "There is no such variation.", field: field + "." + unknown.name)
        }
        var observations: [String: Observation] = [:]
        for variation in variations {
            let field = field + "." + variation.key
            guard let value = value?[variation.key] else {
                throw ServiceError(.invalidBody, "This field is required.", field: field)
            }
            observations[variation.key] = try observation(value, field)
        }
        return observations
    }

    private func observation(_ value: JSONValue, _ field: String) throws -> Observation {
        let sums: Set<String> = kind == .proportion ? ["units", "sum"] : ["units", "sum", "sumOfSquares"]
        try Self.check(value, sums.union(otherName.map { [$0, "sumOfProducts"] } ?? []), field)
        guard case .number(let literal)? = value["units"], let units = Int(literal),
            (0...Self.maximumUnits).contains(units)
        else {
            throw ServiceError(
                .invalidBody, "Expected a whole number from 0 to \(Self.maximumUnits).", field: field + ".units")
        }
        var observation = Observation(value: try Self.sums(value, units, hasSquares: kind != .proportion, field))
        guard let otherName else { return observation }
        guard let second = value[otherName] else {
            throw ServiceError(.invalidBody, "This field is required.", field: "\(field).\(otherName)")
        }
        try Self.check(second, ["sum", "sumOfSquares"], "\(field).\(otherName)")
        let other = try Self.sums(second, units, hasSquares: true, "\(field).\(otherName)")
        observation.other = other
        observation.sumOfProducts = try Self.number(value["sumOfProducts"], field + ".sumOfProducts")
        // |cov(X, Y)| ≤ σ(X) σ(Y) by Cauchy and Schwarz. The covariance has Bessel's correction, which a proportion's
        // variance lacks.
        let correction = kind == .proportion && units > 1 ? Double(units) / Double(units - 1) : 1
        let limit = (observation.value.variance * correction * other.variance).squareRoot()
        guard let pair = observation.paired,
            abs(pair.covariance) <= limit * 1.01 + 1e-9 * abs(observation.sumOfProducts) / Double(max(1, units))
        else {
            throw ServiceError(
                .invalidBody, "No values can have this sum with those sums of squares.", field: field + ".sumOfProducts"
            )
        }
        return observation
    }

    private static func sums(_ value: JSONValue, _ units: Int, hasSquares: Bool, _ field: String) throws -> Sums {
        let sum = try number(value["sum"], field + ".sum")
        guard hasSquares else {
            guard sum >= 0, sum <= Double(units) else {
                throw ServiceError(
                    .invalidBody, "A proportion's sum must be from 0 to the number of units.", field: field + ".sum")
            }
            return Sums(count: units, sum: sum)
        }
        let squares = try number(value["sumOfSquares"], field + ".sumOfSquares")
        let least = units == 0 ? 0 : sum * sum / Double(units)
        guard squares >= least * (1 - 1e-9), units > 0 || (sum == 0 && squares == 0) else {
            throw ServiceError(
                .invalidBody, "No \(units) values with this sum can have such a small sum of squares.",
                field: field + ".sumOfSquares")
        }
        return Sums(count: units, sum: sum, sumOfSquares: squares)
    }

    private static func number(_ value: JSONValue?, _ field: String) throws -> Double {
        guard case .number(let literal)? = value, let number = Double(literal), abs(number) <= maximumNumber else {
            throw ServiceError(
                .invalidBody, value == nil ? "This field is required." : "Expected a number of at most 1e60.",
                field: field)
        }
        return number
    }

    private static func check(_ value: JSONValue, _ known: Set<String>, _ field: String) throws {
        guard case .object(let members) = value else {
            throw ServiceError(.invalidBody, "Expected an object, found \(value.phrase).", field: field)
        }
        for member in members where !known.contains(member.name) {
            throw ServiceError(.invalidBody, "This field is unknown.", field: field + "." + member.name)
        }
    }
}
