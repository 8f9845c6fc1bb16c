import MartletHTTP

extension AuthService {
    func addStaffRoutes(to routes: inout RouteTable) {
        let check = staffPasswordCheck

        // Signing in
        let completion = StaffSignInCompletion(
            sessions: sessions, attempts: attempts, secondFactors: secondFactors, signIns: signIns, audit: audit)
        routes.section = .staff
        routes.on(StaffLogIn.route, StaffLogIn(staff: staff, hasher: hasher, completion: completion))
        routes.on(ListStaffSignInProviders.route, ListStaffSignInProviders(providers: federation.providers))
        let finish = FinishStaffOAuth(federation: federation, staff: staff, hasher: hasher, completion: completion)
        routes.on(FinishStaffOAuth.route, finish)
        routes.on(
            StartOAuth.startStaffOAuth, StartOAuth(federation: federation, attempts: attempts, audience: .staff)
        )
        routes.on(
            OAuthCallback.returnStaffFromOAuth, OAuthCallback(federation: federation, audience: .staff, logger: logger))
        routes.on(
            OAuthCallback.returnStaffFromOAuthByForm,
            OAuthCallback(federation: federation, audience: .staff, logger: logger))
        routes.on(
            RefreshStaffSession.route,
            RefreshStaffSession(staff: staff, sessions: sessions, signIns: signIns, logger: logger))
        routes.on(
            ConfirmStaff.route,
            ConfirmStaff(check: check, secondFactors: secondFactors, sessions: sessions, signIns: signIns))
        routes.on(LogOut.logStaffOut, LogOut(sessions: sessions))

        // The member's own account
        routes.on(ReadStaffMe.route, ReadStaffMe(staff: staff))
        routes.on(
            ChangeStaffPassword.route,
            ChangeStaffPassword(check: check, sessions: sessions, signIns: signIns))
        routes.on(AddStaffSecondFactor.route, AddStaffSecondFactor(check: check, secondFactors: secondFactors))
        routes.on(RemoveSecondFactor.removeStaffSecondFactor, RemoveSecondFactor(check: secondFactorCheck))
        routes.on(
            ConfirmSecondFactor.confirmStaffSecondFactor, ConfirmSecondFactor(secondFactors: secondFactors))
        routes.on(RenewRecoveryCodes.renewStaffRecoveryCodes, RenewRecoveryCodes(check: secondFactorCheck))
        routes.on(ListSessions.listStaffSessions, ListSessions(sessions: sessions))
        routes.on(EndSessions.endStaffSessions, EndSessions(sessions: sessions))
        routes.on(EndSession.endStaffSession, EndSession(sessions: sessions))

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
        routes.on(ListStaffNames.route, ListStaffNames(staff: staff))

        // The whole server: sign-ins, the audit log and health
        routes.on(ListSignIns.route, ListSignIns(sessions: sessions, now: now))
        routes.on(ReadAuditLog.route, ReadAuditLog(audit: audit))
        routes.on(ExportAuditLog.route, ExportAuditLog(audit: audit))
        routes.on(ReadHealth.route, ReadHealth(health: health))
        routes.on(ReadStatus.route, ReadStatus(store: status, now: now))
        routes.on(ReadDatabase.route, ReadDatabase(store: statements))
        routes.on(ListStatements.route, ListStatements(store: statements, now: now))
    }
}
