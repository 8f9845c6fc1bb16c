import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct TermsTests {
    @Test func `a text has one number in a space, even if requested concurrently`() async throws {
        try await AnalyticsApp.run { app async throws in
            let space = try await app.space.id
            let terms = Set(
                (0..<200).map { Term(space: space, kind: .name, text: "event \($0 % 50)") } + [
                    Term(space: space, kind: .os, text: "event 1")
                ])
            let all = try await withThrowingTaskGroup(of: [Term: Int].self) { group in
                for _ in 0..<8 { group.addTask { try await Terms(postgres: app.postgres).numbers(of: terms) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(all).count == 1 && all[0].count == 51 && Set(all[0].values).count == 51)
            #expect(try await app.count("analytics.terms") == 51)
        }
    }

    @Test func `beyond the limit of a kind, all other texts share one number`() async throws {
        try await AnalyticsApp.run { app async throws in
            let space = try await app.space.id
            let terms = Terms(postgres: app.postgres)
            func term(_ number: Int) -> Term { Term(space: space, kind: .country, text: "c\(number)") }
            let first = try await terms.numbers(of: Set((0..<290).map(term)))
            let more = try await terms.numbers(of: Set((0..<400).map(term)))
            #expect(more.count == 400 && Set(more.values).count == 301 && first.allSatisfy { more[$0.key] == $0.value })
            #expect(try await app.count("analytics.terms WHERE text = '(other)'") == 1)
            // A new instance also knows the existing ones.
            let fresh = Terms(postgres: app.postgres)
            let again = try await fresh.numbers(of: [term(1_000), term(3)])
            #expect(again[term(1_000)] == more.values.max() && again[term(3)] == first[term(3)])
            #expect(try await app.count("analytics.terms") == 301)
            // A full kind does not affect other kinds or spaces.
            #expect(
                try await terms.numbers(of: [Term(space: space, kind: .os, text: "c1000")]).values.first
                    != more.values.max())
        }
    }
}
