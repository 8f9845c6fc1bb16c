import MartletHTTP

/// The stores and services that the endpoints of staff share.
struct StaffParts: Sendable {
    let staff: StaffStore
    let sessions: StaffSessionStore
    let secondFactors: SecondFactorStore
    let signIns: StaffSignIns
}

extension AuthService {
    func addStaffRoutes(to routes: inout RouteTable) {
        let (staff, sessions, secondFactors) = (staffParts.staff, staffParts.sessions, staffParts.secondFactors)
        let check = StaffPasswordCheck(staff: staff, attempts: attempts, hasher: hasher)

        // Signing in
        let completion = StaffSignInCompletion(
            sessions: sessions, attempts: attempts,
            secondFactor: SecondFactorCheck(attempts: attempts, secondFactors: secondFactors),
            signIns: staffParts.signIns, audit: audit)
        routes.section = .staff
        routes.on(StaffLogIn.route, StaffLogIn(staff: staff, hasher: hasher, completion: completion))
        routes.on(ListStaffSignInProviders.route, ListStaffSignInProviders(providers: federation.providers))
        let finish = FinishStaffOAuth(federation: federation, staff: staff, hasher: hasher, completion: completion)
        routes.on(FinishStaffOAuth.route, finish)
        routes.on(
            StartOAuth.startStaffOAuth, StartOAuth(federation: federation, attempts: attempts, guests: .staff)
        )
        routes.on(
            OAuthCallback.returnStaffFromOAuth, OAuthCallback(federation: federation, guests: .staff, logger: logger))
        routes.on(
            OAuthCallback.returnStaffFromOAuthByForm,
            OAuthCallback(federation: federation, guests: .staff, logger: logger))
        routes.on(
            RefreshStaffSession.route,
            RefreshStaffSession(staff: staff, sessions: sessions, signIns: staffParts.signIns, logger: logger))
        routes.on(LogStaffOut.route, LogStaffOut(sessions: sessions))

        // The member's own account
        routes.on(ReadStaffMe.route, ReadStaffMe(staff: staff))
        routes.on(
            ChangeStaffPassword.route,
            ChangeStaffPassword(check: check, sessions: sessions, signIns: staffParts.signIns))
        routes.on(AddStaffSecondFactor.route, AddStaffSecondFactor(check: check, secondFactors: secondFactors))
        routes.on(RemoveStaffSecondFactor.route, RemoveStaffSecondFactor(check: check, secondFactors: secondFactors))
        routes.on(
            ConfirmStaffSecondFactor.route,
            ConfirmStaffSecondFactor(attempts: attempts, secondFactors: secondFactors, audit: audit))
        routes.on(RenewStaffRecoveryCodes.route, RenewStaffRecoveryCodes(check: check, secondFactors: secondFactors))
        routes.on(ListStaffSessions.route, ListStaffSessions(sessions: sessions))
        routes.on(EndStaffSessions.route, EndStaffSessions(sessions: sessions))
        routes.on(EndStaffSession.route, EndStaffSession(sessions: sessions))

        // Other staff
        routes.on(ListStaff.route, ListStaff(staff: staff))
        routes.on(CreateStaff.route, CreateStaff(staff: staff, hasher: hasher))
        routes.on(ReadStaff.route, ReadStaff(staff: staff))
        routes.on(ChangeStaff.route, ChangeStaff(staff: staff, hasher: hasher))
        routes.on(DeleteStaff.route, DeleteStaff(staff: staff))
        routes.on(ResetStaffSecondFactor.route, ResetStaffSecondFactor(staff: staff))
        routes.on(EndSessionsOfStaff.route, EndSessionsOfStaff(staff: staff))
        routes.on(LinkStaffIdentity.route, LinkStaffIdentity(check: check, providers: federation.providers))
        routes.on(UnlinkStaffIdentity.route, UnlinkStaffIdentity(staff: staff))
        routes.on(ListStaffProviders.route, ListStaffProviders(federation: federation))
        routes.on(SaveStaffProvider.route, SaveStaffProvider(federation: federation))
        routes.on(DeleteStaffProvider.route, DeleteStaffProvider(federation: federation))

        // Calls from other processes of the suite
        routes.on(NameStaff.route, NameStaff(staff: staff))

        // Sign-ins and the audit log
        routes.on(ListSignIns.route, ListSignIns(sessions: sessions))
        routes.on(ReadAuditLog.route, ReadAuditLog(audit: audit))
        routes.on(ExportAuditLog.route, ExportAuditLog(audit: audit))
    }
}
