import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The collection to which rules apply, with its space and all collections of that space.
struct RuleScope: Sendable {
    let space: AppSchema
    let collection: CollectionName
    /// The collections of the space.
    let collections: [String: CollectionRules]

    /// Compiles a condition, which reads objects with the rights of the master key: the rules of two collections may
    /// read each other, and a rule means the same for every caller.
    ///
    /// - Throws: as `FilterCompiler`, and `collection-not-found` if the condition reads a collection that does not
    ///   exist. If such a collection counted as empty, dropping it would make `$notInQuery` admit everybody.
    func filter(
        _ condition: RuleCondition, for identity: Identity, _ states: ConditionContext.States
    ) throws -> Filter {
        let filter = try compiled(condition, for: identity, states)
        guard missing(filter) == nil else { throw ServiceError(.collectionNotFound) }
        return filter
    }

    /// A collection that the condition reads and that does not exist.
    func missing(_ filter: Filter) -> CollectionName? {
        filter.collections.filter { $0 != collection && collections[$0.text] == nil }.min { $0.text < $1.text }
    }

    /// As `filter`, but also compiles the condition if a collection is missing.
    func compiled(
        _ condition: RuleCondition, for identity: Identity, _ states: ConditionContext.States
    ) throws -> Filter {
        let scope = QueryScope(space: space, collection: collection, rights: .master)
        let rule = context(of: condition, for: identity, states)
        var compiler = FilterCompiler(scope: scope, now: Date(), rule: rule)
        compiler.filter.condition = try compiler.compile(condition.filter, depth: 0)
        if condition.readsBlocks { compiler.filter.dependsOnOtherState = true }
        guard condition.readsProfile else { return compiler.filter }
        // Otherwise a negation would hold for a caller without a profile.
        let isKnown = try FilterCompiler.callerIsKnown(identity, in: scope)
        compiler.filter.condition = "\(isKnown) AND (\(compiler.filter.condition))"
        compiler.filter.collections.insert(.users)
        compiler.filter.dependsOnOtherState = true
        return compiler.filter
    }

    func context(
        of condition: RuleCondition, for identity: Identity, _ states: ConditionContext.States
    ) -> ConditionContext {
        ConditionContext(
            identity: identity, environment: space.environment, states: states, hops: condition.through ?? [])
    }
}

extension CollectionRules.Operation {
    /// The states of an object that a rule for this operation can name.
    var states: ConditionContext.States {
        switch self {
        case .create: .created
        case .update: .updated
        case .delete: .deleted
        case .find, .get, .count, .addField: .one
        }
    }
}
